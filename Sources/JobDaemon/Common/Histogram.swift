/// A distribution of values: how many are at most as large as each of some bounds.
struct Histogram: Sendable, Equatable {
  /// The bounds of durations in seconds: from a millisecond to half a day.
  static let durations = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1_800, 7_200, 43_200]
  /// The bounds of numbers of objects.
  static let amounts: [Double] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000]
  /// Bounds of durations that lie so close together that a quantile is right within an eighth.
  static let closeDurations = (0..<120).map { 0.001 * Double.pow(1.2, $0) }

  let bounds: [Double]
  /// The number of values up to each bound and above the one before; the last are above all bounds.
  private(set) var counts: [Int]
  private(set) var sum = 0.0

  init(_ bounds: [Double]) {
    self.bounds = bounds
    counts = Array(repeating: 0, count: bounds.count + 1)
  }

  /// The number of values.
  var count: Int { counts.reduce(0, +) }

  /// Counts a value; one below zero, as a clock that is set makes them, counts as zero.
  mutating func add(_ value: Double) {
    let value = max(0, value)
    var low = 0
    var high = bounds.count
    while low < high {
      let middle = (low + high) / 2
      if value <= bounds[middle] { high = middle } else { low = middle + 1 }
    }
    counts[low] += 1
    sum += value
  }

  /// Adds the values of another with the same bounds.
  mutating func add(_ other: Histogram) {
    for index in counts.indices { counts[index] += other.counts[index] }
    sum += other.sum
  }

  /// The bound that a share of the values does not exceed; nil if there are no values.
  func quantile(_ share: Double) -> Double? {
    let rank = (share * Double(count)).rounded(.up)
    if count == 0 { return nil }
    var seen = 0.0
    for (index, count) in counts.enumerated() {
      seen += Double(count)
      if count > 0, seen >= rank { return bounds[min(index, bounds.count - 1)] }
    }
    return bounds.last
  }
}

extension Double {
  fileprivate static func pow(_ base: Double, _ exponent: Int) -> Double {
    (0..<exponent).reduce(1.0) { power, _ in power * base }
  }
}
