import JobSchedule
import Jobs
import ObjectGraph
import Synchronization

/// Counts what has become of jobs since the daemon's start, by type; kept as it happens, so that nobody has to count.
final class JobMeter: Sendable {
  /// The most types, and queues, that are told apart; the others are counted together.
  static let nameLimit = 100
  /// The name under which the others are counted.
  static let otherNames = "other"

  /// The figures of one type.
  struct Figures: Sendable {
    /// The times from when a job could have started to its start, in seconds.
    var waiting = Histogram(Histogram.durations)
    /// The times that attempts took, in seconds.
    var running = Histogram(Histogram.durations)
    /// The attempts that failed, and are followed by another.
    var retries = 0
    /// The jobs whose ends are on disk, by state.
    var finished: [JobState: Int] = [:]
  }

  /// The events of all types since they were taken last.
  struct Recent: Sendable, Equatable {
    /// The times that jobs waited for their start, in seconds.
    var waiting = Histogram(Histogram.closeDurations)
    var retries = 0
    var finished: [JobState: Int] = [:]
  }

  private struct State {
    var figures: [String: Figures] = [:]
    var recent = Recent()
    var missedMoments: [String: Int] = [:]
    var notices = 0
    var observer: (@Sendable ([ManagedObjectID]) -> Void)?

    mutating func change(_ type: String, _ body: (inout Figures) -> Void) {
      let isNamed = figures[type] != nil || figures.count < JobMeter.nameLimit
      body(&figures[isNamed ? type : JobMeter.otherNames, default: Figures()])
    }
  }

  private let state = Mutex(State())

  /// The figures by type.
  var figures: [String: Figures] { state.withLock { $0.figures } }
  /// The number of jobs that tell people of something.
  var notices: Int { state.withLock { $0.notices } }
  /// The number of times that moments of schedules passed and nothing fired, by schedule.
  var missedMoments: [String: Int] { state.withLock { $0.missedMoments } }

  /// Names types before any job of them comes, so that their counters begin at zero.
  func name(_ types: [String]) { state.withLock { state in for type in types { state.change(type) { _ in } } } }

  /// Has a call made for jobs that start, whose ends come to disk, or that others change, from now on, where that happens; nil
  /// for none.
  func observe(_ call: (@Sendable ([ManagedObjectID]) -> Void)?) { state.withLock { $0.observer = call } }

  func noteStart(of job: ManagedObjectID, _ type: String, after waiting: Double) {
    let observer = state.withLock { state in
      state.change(type) { $0.waiting.add(waiting) }
      state.recent.waiting.add(waiting)
      return state.observer
    }
    observer?([job])
  }

  /// - Parameters:
  ///   - seconds: the time that the attempt took.
  ///   - isRetried: true if another one follows, since it has failed.
  func noteAttempt(of type: String, taking seconds: Double, isRetried: Bool) {
    state.withLock { state in
      state.change(type) { figures in
        figures.running.add(seconds)
        if isRetried { figures.retries += 1 }
      }
      if isRetried { state.recent.retries += 1 }
    }
  }

  func noteDurable(_ jobs: [FinishedJob]) {
    let observer = state.withLock { state in
      for job in jobs {
        state.change(job.type) { $0.finished[job.state, default: 0] += 1 }
        state.recent.finished[job.state, default: 0] += 1
      }
      return state.observer
    }
    observer?(jobs.map(\.objectID))
  }

  /// - Parameter jobs: none if something else has changed that readers are shown.
  func noteChange(of jobs: [ManagedObjectID]) { state.withLock { $0.observer }?(jobs) }

  func noteNotice() { state.withLock { $0.notices += 1 } }

  func noteMissed(by schedule: String) {
    state.withLock { state in
      let isNamed = state.missedMoments[schedule] != nil || state.missedMoments.count < Self.nameLimit
      state.missedMoments[isNamed ? schedule : Self.otherNames, default: 0] += 1
    }
  }

  /// Returns what has happened since the last time, and begins anew.
  func drainRecent() -> Recent {
    state.withLock { state in
      defer { state.recent = Recent() }
      return state.recent
    }
  }
}
