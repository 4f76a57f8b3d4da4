/// Draws the primary keys of one table from reserved blocks, and knows which of them have reached the store.
struct KeyAllocator {
  /// Keys are reserved in blocks of at least this many.
  static let blockSize = 1 << 16

  private var block: Range<Int64> = 0..<0
  /// All keys that were reserved to be drawn here.
  private var reserved = KeyRanges()
  /// Drawn keys whose objects are stored.
  private var saved = KeyRanges()

  /// The number of keys to reserve with the next save; 0 while the block lasts.
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
  mutating func add(_ added: Range<Int64>) {
    reserved.insert(added)
    block = added.lowerBound == block.upperBound ? block.lowerBound..<added.upperBound : added
  }

  /// Gives up the keys of the block up to one that somebody else has taken.
  mutating func skip(through key: Int64) {
    guard block.contains(key) else { return }
    saved.insert(block.lowerBound..<key + 1)
    block = key + 1..<block.upperBound
  }

  /// Returns true if the key was drawn here and its object has not reached the store.
  func isTemporary(_ key: Int64) -> Bool {
    reserved.contains(key) && !block.contains(key) && !saved.contains(key)
  }

  /// Returns true if none of these keys, which follow each other, can have been in the store.
  func areTemporary(_ keys: Range<Int64>) -> Bool {
    reserved.contains(all: keys) && !block.overlaps(keys) && !saved.overlaps(keys)
  }

  /// Notes that objects with these keys are in the store; those that were not drawn here are so anyway.
  mutating func markSaved(_ keys: Range<Int64>) {
    if reserved.contains(keys.lowerBound) { saved.insert(keys) }
  }
}
