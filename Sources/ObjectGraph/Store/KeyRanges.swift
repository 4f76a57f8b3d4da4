/// A set of keys that mostly follow each other: disjoint ranges in order, adjacent ones joined.
struct KeyRanges {
  private var ranges: [Range<Int64>] = []

  /// - Complexity: O(log n).
  func contains(_ key: Int64) -> Bool {
    let index = ranges.partitioningIndex { $0.upperBound > key }
    return index < ranges.count && ranges[index].contains(key)
  }

  /// - Complexity: O(log n).
  func contains(all keys: Range<Int64>) -> Bool {
    let index = ranges.partitioningIndex { $0.upperBound > keys.lowerBound }
    return index < ranges.count && ranges[index].contains(keys)
  }

  /// - Complexity: O(log n).
  func overlaps(_ keys: Range<Int64>) -> Bool {
    let index = ranges.partitioningIndex { $0.upperBound > keys.lowerBound }
    return index < ranges.count && ranges[index].overlaps(keys)
  }

  mutating func insert(_ keys: Range<Int64>) {
    let index = ranges.partitioningIndex { $0.upperBound >= keys.lowerBound }
    var range = keys
    var end = index
    while end < ranges.count, ranges[end].lowerBound <= range.upperBound {
      range = min(range.lowerBound, ranges[end].lowerBound)..<max(range.upperBound, ranges[end].upperBound)
      end += 1
    }
    ranges.replaceSubrange(index..<end, with: CollectionOfOne(range))
  }
}

extension Array {
  /// The first index whose element satisfies a condition that all later elements satisfy too; binary search.
  func partitioningIndex(where belongsToEnd: (Element) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if belongsToEnd(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
