/// Alarms on each of the two clocks, the next one at hand.
struct Alarms {
  /// The purpose of an alarm.
  enum Purpose: Equatable {
    /// A job may become ready; the sequence tells it from a later one in the slot.
    case job(slot: Int, sequence: UInt64)
    /// A rate lets the next one through.
    case resource(Int)
    /// An attempt may have reached its timeout.
    case timeout(slot: Int, sequence: UInt64, attempt: Int)
  }

  struct Alarm: Comparable {
    let time: Int64
    let purpose: Purpose

    static func < (left: Self, right: Self) -> Bool { left.time < right.time }
  }

  private var steady = Heap<Alarm>()
  private var wall = Heap<Alarm>()

  var count: Int { steady.count + wall.count }

  /// Drops alarms that no longer matter.
  mutating func keep(where isKept: (Purpose) -> Bool) {
    steady.keep { isKept($0.purpose) }
    wall.keep { isKept($0.purpose) }
  }

  /// The next due times, on each clock; nil if there is none.
  var next: (steady: Int64?, wall: Int64?) { (steady.first?.time, wall.first?.time) }

  mutating func arm(_ purpose: Purpose, at time: Int64) { steady.push(Alarm(time: time, purpose: purpose)) }

  mutating func arm(_ purpose: Purpose, atWall time: Int64) { wall.push(Alarm(time: time, purpose: purpose)) }

  /// Removes and returns the next due alarm's purpose.
  mutating func takeDue(at now: Moment) -> Purpose? {
    if let alarm = steady.first, alarm.time <= now.steady { return steady.pop()?.purpose }
    if let alarm = wall.first, alarm.time <= now.wall { return wall.pop()?.purpose }
    return nil
  }
}
