import Foundation

/// The progress of an attempt, in units of its choice.
public struct JobProgress: Sendable, Hashable {
  /// The number of units done.
  public var done: Int64 = 0
  /// The number of units in all; nil if that is not known.
  public var total: Int64?
  /// The name of the unit, in the plural, such as `rows`.
  public var unit = ""
  /// A message about the current work.
  public var message: String?

  /// A job's progress.
  public init(done: Int64 = 0, total: Int64? = nil, unit: String = "", message: String? = nil) {
    self.done = done
    self.total = total
    self.unit = unit
    self.message = message
  }
}

/// The pace of an attempt.
package struct ProgressPace: Sendable, Hashable {
  /// Units per second, over the last seconds in which somebody looked; nil as long as that is not known.
  package var ratePerSecond: Double?
  /// The seconds that the rest takes at that rate; nil if the total is not known, or nothing moves.
  package var secondsLeft: Double?

  /// A pace; without arguments one that is not known.
  package init(ratePerSecond: Double? = nil, secondsLeft: Double? = nil) {
    self.ratePerSecond = ratePerSecond
    self.secondsLeft = secondsLeft
  }
}

/// An attempt's progress and samples of it, from which its rate follows.
///
/// There is no clock that ticks: a sample is taken when somebody looks, and counts the less the older it is, by a
/// factor of e in each ``memory``. So the first look shows the mean since the beginning, repeated looks show the
/// present rate, and a job that hangs is seen to slow down.
struct ProgressMeter: Sendable {
  /// The seconds that a look reaches back when somebody looks all the time.
  static let memory = 10.0
  /// The seconds below which a second look shows nothing new.
  static let shortestSpan = 0.1
  /// The seconds beyond which a job counts as not moving.
  static let longestRest = 1e9

  private(set) var progress = JobProgress()
  /// The last sample: what was done, and when.
  private var last: (done: Int64, time: ContinuousClock.Instant)
  /// True if an earlier attempt has done some of it, so that the first value gives no rate.
  private let isResumed: Bool
  private var weightedUnits = 0.0
  private var weightedSeconds = 0.0

  init(isResumed: Bool, at time: ContinuousClock.Instant) {
    last = (0, time)
    self.isResumed = isResumed
  }

  /// Updates the progress; the time is read only at the beginning of a pass.
  mutating func update(_ new: JobProgress, at time: @autoclosure () -> ContinuousClock.Instant) {
    let isFirst = progress == JobProgress()
    let begins = isFirst ? new.done == 0 || isResumed : new.done < progress.done || new.unit != progress.unit
    progress = new
    guard begins else { return }
    last = (new.done, time())
    (weightedUnits, weightedSeconds) = (0, 0)
  }

  /// Takes a sample, and returns the pace.
  mutating func look(at time: ContinuousClock.Instant) -> ProgressPace {
    if progress == JobProgress() { return ProgressPace() }
    let span = last.time.duration(to: time) / .seconds(1)
    if span >= Self.shortestSpan || weightedSeconds == 0 && span > 0 {
      let kept = exp(-span / Self.memory)
      // The weight of the span: the integral of the factor over it.
      let weight = Self.memory * (1 - kept)
      weightedUnits = weightedUnits * kept + Double(progress.done - last.done) / span * weight
      weightedSeconds = weightedSeconds * kept + weight
      last = (progress.done, time)
    }
    guard weightedSeconds > 0 else { return ProgressPace() }
    let rate = max(0, weightedUnits / weightedSeconds)
    let rest = progress.total.map { max(0, Double($0 - progress.done)) / rate }
    return ProgressPace(ratePerSecond: rate, secondsLeft: rest.flatMap { $0 < Self.longestRest ? $0 : nil })
  }
}
