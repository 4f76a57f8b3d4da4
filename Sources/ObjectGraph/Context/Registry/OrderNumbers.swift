/// The numbers that order an ordered relationship: ascending, with gaps for later insertions.
enum OrderNumbers {
  /// The distance between two numbers given one after the other.
  static let gap: Int64 = 1 << 20

  /// Returns ascending numbers, keeping as many of the present ones as possible, so that few objects change.
  ///
  /// - Parameters:
  ///   - numbers: the present number of each object in the order that is wanted; nil for none.
  ///   - draw: a number greater than those drawn before.
  /// - Complexity: O(n log n).
  static func renewed(_ numbers: [Int64?], draw: () -> Int64) -> [Int64] {
    let kept = longestAscent(numbers)
    var renewed: [Int64] = []
    renewed.reserveCapacity(numbers.count)
    var index = 0
    while index < numbers.count {
      if kept.contains(index), let number = numbers[index] {
        renewed.append(number)
        index += 1
        continue
      }
      var end = index
      while end < numbers.count, !kept.contains(end) { end += 1 }
      let upper = end < numbers.count ? numbers[end] : nil
      guard let run = fill(end - index, from: renewed.last, to: upper, draw) else { return numbers.map { _ in draw() } }
      renewed += run
      index = end
    }
    return renewed
  }

  /// Returns numbers between two bounds; nil if there is no room.
  private static func fill(_ count: Int, from lower: Int64?, to upper: Int64?, _ draw: () -> Int64) -> [Int64]? {
    let wanted = Int64(count)
    switch (lower, upper) {
    case (let lower?, let upper?):
      let step = (upper - lower) / (wanted + 1)
      return step < 1 ? nil : (1...wanted).map { lower + step * $0 }
    case (nil, let upper?):
      let (lowest, overflow) = upper.subtractingReportingOverflow(gap * wanted)
      return overflow ? nil : (0..<wanted).map { lowest + gap * $0 }
    case (let lower?, nil):
      var last = lower
      return (0..<count).map { _ in
        last = max(draw(), last + gap)
        return last
      }
    case (nil, nil): return (0..<count).map { _ in draw() }
    }
  }

  /// Returns the places of a longest ascending subsequence.
  private static func longestAscent(_ numbers: [Int64?]) -> Set<Int> {
    /// For each length less 1, the place where an ascent of that length ends with the least number.
    var ends: [Int] = []
    var previous: [Int: Int] = [:]
    for (place, number) in numbers.enumerated() {
      guard let number else { continue }
      var range = 0..<ends.count
      while !range.isEmpty {
        let middle = range.lowerBound + range.count / 2
        if let other = numbers[ends[middle]], other < number {
          range = (middle + 1)..<range.upperBound
        } else {
          range = range.lowerBound..<middle
        }
      }
      if range.lowerBound > 0 { previous[place] = ends[range.lowerBound - 1] }
      if range.lowerBound == ends.count { ends.append(place) } else { ends[range.lowerBound] = place }
    }
    var kept: Set<Int> = []
    var place = ends.last
    while let current = place {
      kept.insert(current)
      place = previous[current]
    }
    return kept
  }
}
