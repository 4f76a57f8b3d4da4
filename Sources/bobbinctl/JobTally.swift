import Foundation
import StatusReplies

/// The number of jobs in each state, of those that somebody watches.
struct JobTally {
  private let counts: [JobReply.State: Int]

  init(_ counts: [String: Int]) {
    self.counts = Dictionary(uniqueKeysWithValues: counts.map { (JobReply.State(rawValue: $0.key), $0.value) })
  }

  init(_ jobs: [JobReply]) {
    self.init(Dictionary(jobs.map { ($0.stateText, 1) }, uniquingKeysWith: +))
  }

  var total: Int { counts.values.reduce(0, +) }

  /// The number of jobs in final states.
  var done: Int { count(where: \.isFinal) }

  /// The number of jobs in final states other than `completed`.
  var failed: Int { count(where: \.isFailure) }

  var running: Int { counts[.running] ?? 0 }
  var held: Int { counts[.held] ?? 0 }
  /// The number of jobs that have failed and are to be tried again.
  var retried: Int { counts[.retryable] ?? 0 }

  /// True if no job can end by itself: some are held, and those that are not done wait.
  var isStuck: Bool { held > 0 && done + held + (counts[.waiting] ?? 0) == total }

  /// Such as `12 of 301 done, 3 running, 1 failed, 0.2/s, about 24 min left`.
  ///
  /// - Parameter rate: How many are done in a second; nil if that is not known.
  func text(rate: Double?) -> String {
    var parts = ["\(done) of \(total) done"]
    for (number, name) in [
      (running, "running"), (retried, "to be tried again"), (held, "held"), (failed, "failed"),
    ] where number > 0 {
      parts.append("\(number) \(name)")
    }
    if let rate, done < total {
      let digits = rate < 10 ? max(0.1, (rate * 10).rounded() / 10) : rate.rounded()
      parts.append("\(digits == digits.rounded() ? "\(Int(digits))" : "\(digits)")/s")
      parts.append("about \(TimeText.coarse(Double(total - done) / rate)) left")
    }
    return parts.joined(separator: ", ")
  }

  /// Such as `299 completed, 2 discarded`, the largest number first.
  var statesText: String {
    counts.sorted { ($0.value, $1.key.rawValue) > ($1.value, $0.key.rawValue) }.map { "\($0.value) \($0.key.rawValue)" }
      .joined(separator: ", ")
  }

  private func count(where isCounted: (JobReply.State) -> Bool) -> Int {
    counts.reduce(0) { isCounted($1.key) ? $0 + $1.value : $0 }
  }
}

/// The rate at which jobs get done, over the last minute that they were watched, or another time.
struct JobPace {
  private let span: Duration
  private var samples: [(time: ContinuousClock.Instant, done: Int)] = []

  init(span: Duration = .seconds(60)) { self.span = span }

  mutating func note(done: Int, at time: ContinuousClock.Instant) {
    samples.append((time, done))
    // The first is as old as the span at most, and there are two at least.
    while samples.count > 2, samples[1].time.duration(to: time) >= span { samples.removeFirst() }
  }

  /// Jobs per second; nil before two looks, and while nothing gets done.
  var rate: Double? {
    guard let first = samples.first, let last = samples.last, last.done > first.done else { return nil }
    let seconds = first.time.duration(to: last.time) / .seconds(1)
    return seconds > 0 ? Double(last.done - first.done) / seconds : nil
  }
}
