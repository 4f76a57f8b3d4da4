import Dispatch
import Fleet
import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport

/// Brings the jobs that the lead assigns to this host's workers, and the ends of this spool's jobs to its files.
final class FleetJobs: Sendable {
  private static let chunkSize = 1_000
  /// The delay before what met no database is tried again.
  private static let retryDelay = Duration.milliseconds(500)

  private let main: ManagedObjectContext
  private let scheduler: Scheduler
  private let releaser: Releaser
  private let waiters: ReleaseWaiters
  private let intake: Intake
  private let notices: Notices
  private let membership: Membership
  private let events: DaemonEvents
  private let log: DaemonLog
  private let queue = DispatchQueue(label: "fleet jobs")
  private let looks: Coalescer
  private let outcomes = Mutex(Outcomes())

  private struct Outcomes {
    var floor = NewsFloor()
    /// Those that were read and are not forgotten, since files of their jobs are being released.
    var open: [Outcome] = []
    /// The timeline of the server on which their numbers count.
    var timeline: Int64?
    /// The jobs that were looked at, of those that are watched.
    var watchedCount = 0
  }

  init(
    main: ManagedObjectContext, scheduler: Scheduler, releaser: Releaser, waiters: ReleaseWaiters, intake: Intake,
    notices: Notices, membership: Membership, events: DaemonEvents, log: DaemonLog
  ) {
    self.main = main
    self.scheduler = scheduler
    self.releaser = releaser
    self.waiters = waiters
    self.intake = intake
    self.notices = notices
    self.membership = membership
    self.events = events
    self.log = log
    looks = Coalescer(queue: queue)
  }

  // MARK: Assigned runs

  /// Has workers begin runs, whose jobs are read first, past what is cached of earlier attempts; those that can't be read for
  /// good are held, as by a worker.
  func begin(_ runs: [Run]) {
    queue.async { [self] in
      let records = RunRecords(of: runs) { [membership] ids in
        try self.read(ids) { job in
          if let spool = job.spool, spool != membership.spool { membership.note(spool, of: job.objectID) }
          return NewJob(elsewhere: job.objectID, file: nil, type: job.type, queue: job.queue, name: job.id)
        }
      }
      scheduler.begin(records.read)
      // The assignments stay, and so do the jobs when the daemon ends.
      if membership.isClosed { return }
      if !records.missing.isEmpty {
        log.error(
          "\(records.missing.count) jobs were assigned to this host that have no records any more; was the table Job "
            + "changed?")
      }
      for (run, error) in records.unreadable {
        log.error("a job that was assigned to this host can't be read, and is held: \(error)")
        membership.end(run, .held)
      }
      guard let error = records.obstacle else { return }
      log.debug("jobs that were assigned to this host can't be read yet: \(error)")
      queue.async(after: Self.retryDelay) { [weak self] in self?.begin(records.postponed) }
    }
  }

  // MARK: Outcomes

  /// Reads which jobs of this spool have ended, releases the files of those that ended elsewhere, and forgets those whose
  /// files are gone: their records may be removed then.
  func readOutcomes() {
    looks.request { [weak self] in
      guard let self else { return }
      // Behind admissions under way, whose files are only then expected.
      intake.afterAdmissions { self.releaseOutcomes() }
    }
  }

  private func releaseOutcomes() {
    do {
      let ledger = try membership.reader()
      let known = outcomes.withLock { $0 }
      let (found, horizon) = try ledger.outcomes(
        of: membership.spool, above: known.floor.number, besides: known.open.map(\.number),
        askingForWriters: known.floor.asksForWriters(at: Moment.now().steady))
      if let timeline = known.timeline, timeline != horizon.timeline {
        // Behind a failover another one may have the number of one that is known.
        outcomes.withLock { $0 = Outcomes() }
        return releaseOutcomes()
      }
      let read = known.open + found
      let released = Set(try membership.looks.sync { try release(read.flatMap(\.jobs) + nextWatched()) })
      let (open, done) = (
        read.filter { !released.isDisjoint(with: $0.jobs) }, read.filter { released.isDisjoint(with: $0.jobs) }
      )
      if !done.isEmpty { try ledger.forget(done) }
      let readNumber = outcomes.withLock { outcomes in
        (outcomes.open, outcomes.timeline) = (open, horizon.timeline)
        outcomes.floor.note(found.lazy.map(\.number), horizon, at: Moment.now().steady)
        return min(outcomes.floor.number, (open.lazy.map(\.number).min() ?? .max) - 1)
      }
      membership.tell(.readOutcomes(upTo: readNumber))
    } catch {
      // The next beat that is answered tells of them again.
      outcomes.withLock { $0 = Outcomes() }
      membership.tell(.readOutcomes(upTo: 0))
      log.debug("outcomes can't be read: \(error)")
    }
  }

  /// Some of the jobs that are watched: others each time, so that those that wait for long hide no end.
  private func nextWatched() -> [ManagedObjectID] {
    let watched = membership.watched
    return outcomes.withLock { outcomes in
      let jobs = watched.dropFirst(outcomes.watchedCount).prefix(Self.chunkSize)
      outcomes.watchedCount = jobs.count < Self.chunkSize ? 0 : outcomes.watchedCount + jobs.count
      return Array(jobs)
    }
  }

  /// Releases the files of jobs that have ended elsewhere; returns the jobs, of all these, whose files are being released.
  private func release(_ ids: [ManagedObjectID]) throws -> [ManagedObjectID] {
    let known = scheduler.read { schedule, _ in
      ids.compactMap { id in schedule.state(of: id).map { (id: id, isFinal: $0.isFinal) } }
    }
    // What ran here itself is gone from the schedule with its end, and would keep others from being looked at.
    let gone = membership.unwatch(Set(ids).subtracting(known.lazy.map(\.id)))
    // A replacement may have had one watched anew meanwhile.
    membership.watch(scheduler.read { schedule, _ in gone.filter(schedule.contains) })
    let waiting = known.filter { !$0.isFinal }.map(\.id)
    let ends = try membership.reader().records(of: waiting)
    var (finished, byLead): ([FinishedJob], [FinishedJob]) = ([], [])
    for id in waiting {
      let end = ends[id]?.job ?? .removed(id)
      if end.state == .held { waiters.tellHeld(id) }
      guard end.state.isFinal else { continue }
      // Of one that has ended here, or runs here once more, its own end tells.
      let job = scheduler.change { schedule, now -> ScheduledJob? in
        guard schedule.state(of: id)?.isFinal == false, schedule.cancel(id) else { return nil }
        _ = schedule.finish(id, as: end.state, at: now)
        return schedule.job(id)
      }
      guard let job else { continue }
      finished.append(end.with(job.file))
      if ends[id]?.isByLead == true { byLead.append(end) }
    }
    let changed = ends.values.lazy.map(\.job).filter { $0.state.isFinal || $0.state == .held }.map(\.objectID)
    events.send(.changedElsewhere(Array(changed)))
    if !byLead.isEmpty { events.send(.endedByLead(byLead)) }
    membership.unwatch(finished.lazy.map(\.objectID))
    if !finished.isEmpty { notices.tell(of: finished) { [releaser, finished] in releaser.release(finished) } }
    return known.filter(\.isFinal).map(\.id) + finished.map(\.objectID)
  }

  /// Reads jobs as they are in the store now.
  private func read<Value: Sendable>(
    _ ids: [ManagedObjectID], _ body: @Sendable (Job) throws -> Value?
  ) throws -> [Value] {
    var values: [Value] = []
    for start in stride(from: 0, to: ids.count, by: Self.chunkSize) {
      let chunk = ids[start..<min(start + Self.chunkSize, ids.count)]
      values += try ManagedObjectContext(parent: main, name: "fleet").performAndWait { context in
        try context.fetch(FetchRequest<Job>(objectIDs: chunk)).compactMap(body)
      }
    }
    return values
  }
}
