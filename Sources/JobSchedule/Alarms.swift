/// Alarms on each of the two clocks, the next one at hand.
package struct Alarms: Sendable {
  /// The purpose of an alarm.
  enum Purpose: Equatable, Sendable {
    /// A job may become ready; the sequence tells it from a later one in the slot.
    case job(slot: Int, sequence: UInt64)
    /// A rate lets the next one through.
    case resource(Int)
    /// An attempt may have reached its timeout.
    case timeout(slot: Int, sequence: UInt64, attempt: Int)
  }

  struct Alarm: Comparable, Sendable {
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
  package var next: (steady: Int64?, wall: Int64?) { (steady.first?.time, wall.first?.time) }

  mutating func arm(_ purpose: Purpose, at time: Int64) { steady.push(Alarm(time: time, purpose: purpose)) }

  mutating func arm(_ purpose: Purpose, atWall time: Int64) { wall.push(Alarm(time: time, purpose: purpose)) }

  /// Removes and returns the next due alarm's purpose.
  mutating func popDue(at now: Moment) -> Purpose? {
    if let alarm = steady.first, alarm.time <= now.steady { return steady.pop()?.purpose }
    if let alarm = wall.first, alarm.time <= now.wall { return wall.pop()?.purpose }
    return nil
  }
}

/// A binary heap: the least element is at hand; adding and removing one cost the logarithm of their number.
package struct Heap<Element: Comparable> {
  /// Each element is not greater than its two children, at twice its index plus one and two.
  private(set) var elements: [Element] = []

  var isEmpty: Bool { elements.isEmpty }
  var count: Int { elements.count }
  var first: Element? { elements.first }

  package init() {}

  package mutating func push(_ element: Element) {
    elements.append(element)
    var child = elements.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard elements[child] < elements[parent] else { return }
      elements.swapAt(child, parent)
      child = parent
    }
  }

  /// Removes and returns the least element.
  @discardableResult
  package mutating func pop() -> Element? {
    guard let first = elements.first else { return nil }
    let last = elements.removeLast()
    if elements.isEmpty { return first }
    elements[0] = last
    sink(0)
    return first
  }

  /// Keeps only some elements; linear in their number.
  mutating func keep(where isKept: (Element) -> Bool) {
    elements.removeAll { !isKept($0) }
    for parent in (0..<elements.count / 2).reversed() { sink(parent) }
  }

  private mutating func sink(_ index: Int) {
    var parent = index
    while true {
      var next = parent
      let child = 2 * parent + 1
      if child < elements.count && elements[child] < elements[next] { next = child }
      if child + 1 < elements.count && elements[child + 1] < elements[next] { next = child + 1 }
      if next == parent { return }
      elements.swapAt(parent, next)
      parent = next
    }
  }
}

extension Heap: Sendable where Element: Sendable {}
