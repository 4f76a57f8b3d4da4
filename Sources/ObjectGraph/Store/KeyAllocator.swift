/// Draws the primary keys of one table from reserved blocks, and knows which of them have reached the store.
struct KeyAllocator {
  /// Keys are reserved in blocks of at least this many.
  static let blockSize = 1 << 16

  private var block: Range<Int64> = 0..<0
  /// The first key that this process could have drawn; nil before the first block.
  private var first: Int64?
  /// Drawn keys whose objects are stored: disjoint ranges in order, adjacent ones joined.
  private var saved: [Range<Int64>] = []

  /// How many keys to reserve with the next save; 0 while the block lasts.
  var shortage: Int { block.count < Self.blockSize / 2 ? Self.blockSize : 0 }

  /// Draws keys that follow each other, or returns nil if the block does not hold so many.
  mutating func draw(_ count: Int) -> Range<Int64>? {
    guard block.count >= count else { return nil }
    let keys = block.lowerBound..<block.lowerBound + Int64(count)
    block = keys.upperBound..<block.upperBound
    return keys
  }

  /// Gives up what is left of the block.
  mutating func takeRest() -> Range<Int64> {
    defer { block = block.upperBound..<block.upperBound }
    return block
  }

  /// Adds a reserved block; one that does not follow the present block replaces it.
  mutating func add(_ reserved: Range<Int64>) {
    first = min(first ?? reserved.lowerBound, reserved.lowerBound)
    block = reserved.lowerBound == block.upperBound ? block.lowerBound..<reserved.upperBound : reserved
  }

  /// Whether the key was drawn here and its object has not reached the store.
  func isTemporary(_ key: Int64) -> Bool {
    guard let first, key >= first else { return false }
    let index = saved.partitioningIndex { $0.upperBound > key }
    return index == saved.count || !saved[index].contains(key)
  }

  /// Notes that objects with these keys are in the store.
  mutating func markSaved(_ keys: Range<Int64>) {
    guard let first, keys.upperBound > first else { return }
    let index = saved.partitioningIndex { $0.upperBound >= keys.lowerBound }
    var range = keys
    var end = index
    while end < saved.count, saved[end].lowerBound <= range.upperBound {
      range = min(range.lowerBound, saved[end].lowerBound)..<max(range.upperBound, saved[end].upperBound)
      end += 1
    }
    saved.replaceSubrange(index..<end, with: CollectionOfOne(range))
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
