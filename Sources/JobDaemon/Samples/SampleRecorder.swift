import Configuration
import Dispatch
import Foundation
import JobSchedule
import Jobs
import Synchronization
import SystemSupport

/// Samples the daemon's figures whenever a flush has ended, for plots over time.
///
/// It has no timer, and no wait of anybody's: what it does is done on a queue of its own, and its file, which is written
/// every few minutes with a flush and at the end, is not worth one either.
final class SampleRecorder: Sendable {
  /// The time between two writes of the file.
  private static let writeInterval = Duration.seconds(300)

  private struct State {
    var history = SampleHistory()
    var lastWrite = ContinuousClock.now
    var hasTold = false
  }

  private let scheduler: Scheduler
  private let flusher: Flusher
  private let meter: JobMeter
  private let folder: String
  private let log: DaemonLog
  private let queue = DispatchQueue(label: "samples")
  private let state = Mutex(State())
  private let now: @Sendable () -> Int64

  /// - Parameters:
  ///   - folder: the folder of the file.
  ///   - now: the wall clock, in milliseconds since 1970.
  init(
    _ scheduler: Scheduler, _ flusher: Flusher, meter: JobMeter, folder: String, log: DaemonLog,
    now: @escaping @Sendable () -> Int64 = { Moment.now().wall }
  ) {
    self.scheduler = scheduler
    self.flusher = flusher
    self.meter = meter
    self.folder = folder
    self.log = log
    self.now = now
  }

  /// Goes on with the samples of an earlier run; without them, if they can't be read.
  func begin() {
    let path = folder + "/" + Paths.samples
    do throws(SystemError) {
      let data = try FileDescriptor.open(path).readAll(limit: 4 << 20)
      if let history = SampleHistory(data) { return state.withLock { $0.history = history } }
      log.notice("\(path) is damaged, or of another release; plots begin anew")
    } catch {
      if error.code != .noEntry {
        log.notice("\(path) can't be read; plots begin anew: \(error)")
      }
    }
  }

  /// Notes that something may have changed.
  func note() {
    queue.async { [self] in
      observe()
      if state.withLock({ $0.lastWrite.duration(to: .now) >= Self.writeInterval }) { write() }
    }
  }

  /// Keeps the samples for the next start; returns when that is done.
  func stop() {
    queue.sync {
      observe()
      write()
    }
  }

  /// Calls back with the samples up to now.
  func read(_ answer: @escaping @Sendable (SampleHistory) -> Void) {
    queue.async { [self] in
      observe()
      answer(state.withLock { $0.history })
    }
  }

  private func observe() {
    let recent = meter.drainRecent()
    let counts = scheduler.read { schedule, _ in schedule.counts }
    let flushes = flusher.statistics
    var observation = Observation(waiting: recent.waiting)
    for (state, count) in recent.finished { observation.values[SampleColumn(state)] = Int64(count) }
    observation.values[.retries] = Int64(recent.retries)
    for state in JobState.allCases where !state.isFinal {
      observation.values[SampleColumn(state)] = Int64(counts[state] ?? 0)
    }
    observation.values[.unflushedAge] = [flushes.lastAge, flushes.oldestUnflushed].compactMap { $0?.milliseconds }.max()
    // Without an answer the room is not known.
    observation.values[.diskFree] = (try? FileSystemSpace(of: folder)).map { Int64(clamping: $0.free) }
    state.withLock { [observation] in $0.history.add(observation, at: now() / 1_000) }
  }

  private func write() {
    let data = state.withLock { state in
      state.lastWrite = .now
      return state.history.data
    }
    do throws(SystemError) { try Directory(path: folder).writeDurably(FileName(Paths.samples), data) } catch {
      let isNews = state.withLock { state in
        defer { state.hasTold = true }
        return !state.hasTold
      }
      if isNews { log.notice("samples for plots can't be kept for the next start: \(error)") }
    }
  }
}

extension SampleColumn {
  /// The column that counts jobs in a state.
  fileprivate init(_ state: JobState) {
    self =
      switch state {
      case .available: .available
      case .scheduled: .scheduled
      case .waiting: .waiting
      case .held: .held
      case .running: .running
      case .retryable: .retryable
      case .completed: .completed
      case .cancelled: .cancelled
      case .discarded: .discarded
      case .quarantined: .quarantined
      }
  }
}
