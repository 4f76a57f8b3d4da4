import Configuration
import Foundation
import JobSchedule
import Jobs
import SystemSupport

/// The daemon's metrics; Documentation/Metrics.md explains each.
extension Daemon {
  /// Writes all metrics. Everything is counted already but for what the file systems tell, so the cost is that of the text.
  ///
  /// - Parameter connections: the number of open connections of the status interface.
  func metrics(_ format: MetricsText.Format, connections: Int) -> Data {
    var text = MetricsText(format)
    addProcess(to: &text, connections: connections)
    addBacklog(to: &text)
    addJobs(to: &text)
    addWriting(to: &text)
    addSurroundings(to: &text)
    addFleet(to: &text)
    return text.data
  }

  private func addProcess(to text: inout MetricsText, connections: Int) {
    text.gauge(
      "bobbin_build_info", "The release that runs; always 1.", samples: [([("version", Release.version)], 1)])
    text.gauge(
      "process_start_time_seconds", "When the daemon was started, in seconds since 1970.",
      value: started.timeIntervalSince1970
    )
    // Their absence says that the kernel does not tell.
    if let usage = try? ProcessUsage() {
      text.counter(
        "process_cpu_seconds_total", "Processor time of the daemon without its helpers.", value: usage.cpuSeconds)
      text.gauge(
        "process_resident_memory_bytes", "Memory that the daemon occupies, without its helpers.",
        value: Double(usage.residentBytes))
    }
    text.gauge("bobbin_healthy", "1 while the daemon can write its store, or else 0.", value: problem == nil ? 1 : 0)
    text.gauge("bobbin_connections", "Open connections of the status interface.", value: Double(connections))
    text.gauge(
      "bobbin_pauses", "Pauses of everything, of queues, types and schedules.", value: Double(pauseReplies.count))
    text.gauge(
      "bobbin_held_types", "Types that are held, since a fault of this host keeps their jobs from running.",
      value: Double(engine.hostFaults.heldTypes.count))
    text.gauge(
      "bobbin_jobs_short", "Jobs that are tried again until this host has what they lack, such as space on a disk.",
      value: Double(engine.shortages.summary?.jobs ?? 0))
  }

  /// The unfinished jobs, by type and by queue.
  private func addBacklog(to text: inout MetricsText) {
    let (backlogs, counts) = scheduler.read { schedule, now in (schedule.backlogs(at: now), schedule.counts) }
    let types = Backlogs(backlogs) { if case .type(let name) = $0 { name } else { nil } }
    text.gauge("bobbin_jobs", "Unfinished jobs by type and state.", samples: types.samples(label: "type"))
    let queues = Backlogs(backlogs) { if case .queue(let name) = $0 { name } else { nil } }
    text.gauge("bobbin_queue_jobs", "Unfinished jobs by queue and state.", samples: queues.samples(label: "queue"))
    text.gauge(
      "bobbin_queue_oldest_waiting_seconds",
      "The time for which the job of a queue that has been ready longest waits for its start; 0 if none waits.",
      samples: queues.entries.map { ([("queue", $0.name)], Double($0.longestWait) / 1_000) })
    text.gauge(
      "bobbin_workers", "Workers, each of which runs a job at a time.", value: Double(configuration.value.workers.count)
    )
    text.gauge("bobbin_workers_busy", "Workers that run a job.", value: Double(counts[.running] ?? 0))
  }

  private func addJobs(to text: inout MetricsText) {
    meter.name(handlers.types)
    let figures = meter.figures.sorted { $0.key < $1.key }
    let finals = JobState.allCases.filter(\.isFinal)
    text.counter(
      "bobbin_jobs_finished_total", "Jobs whose end is on disk, by type and final state.",
      samples: figures.flatMap { type, figures in
        finals.map { ([("type", type), ("state", $0.rawValue)], Double(figures.finished[$0] ?? 0)) }
      })
    text.counter(
      "bobbin_job_retries_total", "Attempts that failed and are followed by another.",
      samples: figures.map { ([("type", $0)], Double($1.retries)) })
    text.histogram(
      "bobbin_job_waiting_seconds", "The time from when an attempt could have started to its start.",
      samples: figures.map { ([("type", $0)], $1.waiting) })
    text.histogram(
      "bobbin_job_running_seconds", "The time that an attempt took, however it ended.",
      samples: figures.map { ([("type", $0)], $1.running) })
  }

  private func addWriting(to text: inout MetricsText) {
    let flushes = flusher.statistics
    text.histogram(
      "bobbin_flush_duration_seconds", "The time that a flush took, which is one transaction.",
      samples: [([], flushes.durations)])
    text.histogram("bobbin_flush_objects", "The objects that a flush wrote.", samples: [([], flushes.sizes)])
    text.counter("bobbin_flushed_bytes_total", "The size in memory of what was flushed.", value: Double(flushes.bytes))
    text.counter(
      "bobbin_flush_postponements_total", "Flushes that found the store full or busy, and were to be tried again.",
      value: Double(flushes.postponements))
    text.gauge(
      "bobbin_unflushed_objects", "Objects with changes that are computed and not on disk yet.",
      value: Double(flushes.unflushedObjects))
    text.gauge("bobbin_unflushed_bytes", "The size of these changes in memory.", value: Double(flushes.unflushedBytes))
    text.gauge(
      "bobbin_unflushed_age_seconds", "The time since the oldest of these changes was merged; 0 if there are none.",
      value: flushes.oldestUnflushed.map { $0 / .seconds(1) } ?? 0)
    text.summary(
      "bobbin_main_occupied_seconds", "The times for which the main context was occupied, since the start.",
      quantiles: [0.5, 0.99].map { ($0, mainOccupation.percentile($0)) }, sum: mainOccupation.total,
      count: Double(mainOccupation.count))
    let files = intake.fileCounts
    text.gauge(
      "bobbin_spool_files", "Job files that lie in new/ and are not claimed, as far as they were met.",
      value: Double(files.waiting))
    text.counter("bobbin_refused_files_total", "Job files that were refused.", value: Double(files.refused))
  }

  private func addSurroundings(to text: inout MetricsText) {
    if configuration.value.store.url.isEmpty {
      let sizes = ["", "-wal"].map { try? FileDescriptor.open(paths.store + $0).status().size }
      text.gauge(
        "bobbin_store_bytes", "The size of the store with its log, without large values.",
        value: sizes[0].map { Double($0 + (sizes[1] ?? 0)) })
    }
    // One that can't be asked has no samples.
    let spaces = [("state", paths.state), ("spool", paths.spool)].compactMap { name, path in
      (try? FileSystemSpace(of: path)).map { (name, $0) }
    }
    text.gauge(
      "bobbin_disk_free_bytes", "The room in the file system of a folder.",
      samples: spaces.map { ([("folder", $0)], Double($1.free)) })
    text.gauge(
      "bobbin_disk_size_bytes", "The size of the file system of a folder.",
      samples: spaces.map { ([("folder", $0)], Double($1.size)) })
    let helpers = handlers.own.compactMap { handler in handler.helperCounts.map { (handler.type, $0) } }
    text.counter(
      "bobbin_helper_starts_total", "Helper processes that were started.",
      samples: helpers.map { ([("type", $0)], Double($1.started)) })
    text.counter(
      "bobbin_helper_failures_total", "Helper processes that died or hung with a job, and were replaced.",
      samples: helpers.map { ([("type", $0)], Double($1.failed)) })
    text.counter("bobbin_notices_total", "Jobs that tell people of something.", value: Double(meter.notices))
    let missed = meter.missedMoments
    let names = Set(schedules.overview.prefix(JobMeter.nameLimit).map(\.name)).union(missed.keys).sorted()
    text.counter(
      "bobbin_schedule_missed_total", "Times at which moments of a schedule had passed, and nothing fired.",
      samples: names.map { ([("schedule", $0)], Double(missed[$0] ?? 0)) })
    let folders = hotFolders.overview
    text.gauge("bobbin_hot_folders", "Hot folders.", value: Double(folders.count))
    text.gauge(
      "bobbin_hot_folders_troubled", "Hot folders whose files are not taken, or not all of them.",
      value: Double(folders.count { $0.problem != nil }))
  }

  private func addFleet(to text: inout MetricsText) {
    guard let membership else { return }
    let figures = membership.meter.figures
    text.gauge("bobbin_fleet_lead", "1 if this host leads the fleet, or else 0.", value: membership.leads ? 1 : 0)
    text.gauge(
      "bobbin_fleet_members", "Hosts that are alive; only the lead knows.", value: figures.members.map { Double($0) })
    text.counter(
      "bobbin_fleet_leads_total", "Leads that the fleet has had: each but the first took over from another.",
      value: Double(figures.term))
    text.gauge(
      "bobbin_fleet_away", "1 while the database of the fleet does not answer, or else 0.",
      value: figures.isAway ? 1 : 0)
  }
}

/// The unfinished jobs of queues, or of types, by a bounded number of names.
private struct Backlogs {
  struct Entry {
    let name: String
    var counts: [JobState: Int] = [:]
    /// In milliseconds.
    var longestWait: Int64 = 0
  }

  let entries: [Entry]

  /// - Parameter name: the name of a resource that belongs here; nil for others.
  init(_ backlogs: [Schedule.Backlog], name: (Resource.Name) -> String?) {
    let named = backlogs.compactMap { backlog in name(backlog.name).map { ($0, backlog) } }.sorted { $0.0 < $1.0 }
    var entries: [String: Entry] = [:]
    for (name, backlog) in named {
      let name = entries.count < JobMeter.nameLimit ? name : JobMeter.otherNames
      var entry = entries[name] ?? Entry(name: name)
      entry.counts.merge(backlog.counts, uniquingKeysWith: +)
      entry.longestWait = max(entry.longestWait, backlog.longestWait ?? 0)
      entries[name] = entry
    }
    self.entries = entries.values.sorted { $0.name < $1.name }
  }

  func samples(label: String) -> [(MetricsText.Labels, Double)] {
    let states = JobState.unfinished
    return entries.flatMap { entry in
      states.map { ([(label, entry.name), ("state", $0.rawValue)], Double(entry.counts[$0] ?? 0)) }
    }
  }
}
