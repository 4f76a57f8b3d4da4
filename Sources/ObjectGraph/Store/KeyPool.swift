import ObjectModel
import Synchronization

/// The primary keys of new objects: draws them from blocks that the store has reserved, and knows which were stored.
///
/// Any thread may call. It never calls out while it holds its lock; what does I/O is given as a closure.
final class KeyPool: Sendable {
  /// Keys are reserved in blocks of at least this many.
  static let blockSize = 1 << 16

  private let roots: [Entity]
  /// The keys of each table, by the index of its root entity.
  private let tables: Mutex<[TableKeys]>

  init(_ model: ManagedObjectModel) {
    roots = model.entities.filter { $0.parent == nil }
    tables = Mutex(Array(repeating: TableKeys(), count: model.entities.count))
  }

  /// Draws keys that follow each other; reserves a block if the present one does not hold so many.
  func draw(
    _ count: Int, for entity: Entity, reserve: (KeyReservation) throws(StoreError) -> Range<Int64>
  ) throws(StoreError) -> Range<Int64> {
    while true {
      if let drawn = tables.withLock({ $0[entity.rootIndex].draw(count) }) { return drawn }
      let reservation = KeyReservation(root: entity.root, count: max(count, Self.blockSize))
      add([try reserve(reservation)], for: [reservation])
    }
  }

  /// The first block of each table.
  var firstReservations: [KeyReservation] { roots.map { KeyReservation(root: $0, count: Self.blockSize) } }

  /// The blocks to reserve with the next save, because the present ones run low.
  var dueReservations: [KeyReservation] {
    tables.withLock { tables in
      roots.filter { tables[$0.index].isLow }.map { KeyReservation(root: $0, count: Self.blockSize) }
    }
  }

  /// Adds what the store has reserved, a block for each reservation, or none at all.
  func add(_ blocks: [Range<Int64>], for reservations: [KeyReservation]) {
    if blocks.isEmpty { return }
    tables.withLock { tables in
      for (reservation, block) in zip(reservations, blocks) { tables[reservation.root.index].add(block) }
    }
  }

  /// Gives up the blocks, and returns what was left of them.
  func takeRest() -> [KeyBlock] {
    tables.withLock { tables in
      roots.map { KeyBlock(root: $0, keys: tables[$0.index].takeRest()) }.filter { !$0.keys.isEmpty }
    }
  }

  /// Gives up keys that others have taken without reserving them.
  func skip(through highest: [(root: Entity, key: Int64)]) {
    tables.withLock { tables in
      for (root, key) in highest { tables[root.index].skip(through: key) }
    }
  }

  /// Returns true if the object has a key that was drawn here, and has not reached the store.
  func isTemporary(_ id: ManagedObjectID) -> Bool {
    tables.withLock { $0[Int(id.rootIndex)].isTemporary(id.key) }
  }

  /// Returns true if none of these keys, by the index of their root, can have been in the store.
  func areTemporary(_ runs: [(root: Int, keys: Range<Int64>)]) -> Bool {
    tables.withLock { tables in runs.allSatisfy { tables[$0.root].areTemporary($0.keys) } }
  }

  /// Notes that the objects which a save has inserted are in the store.
  func noteStored(_ sets: [ChangeSet]) {
    tables.withLock { tables in
      for set in sets {
        for (root, run) in set.insertedKeys { tables[root].noteStored(run) }
        for batch in set.batches {
          tables[batch.entity.root.index].noteStored(batch.firstKey..<batch.firstKey + Int64(batch.count))
        }
      }
    }
  }
}

/// The keys of one table.
private struct TableKeys: Sendable {
  private var block: Range<Int64> = 0..<0
  /// All keys that were reserved to be drawn here.
  private var reserved = KeyRanges()
  /// Drawn keys whose objects are stored.
  private var stored = KeyRanges()

  /// True if a block is to be reserved with the next save.
  var isLow: Bool { block.count < KeyPool.blockSize / 2 }

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
    stored.insert(block.lowerBound..<key + 1)
    block = key + 1..<block.upperBound
  }

  func isTemporary(_ key: Int64) -> Bool {
    reserved.contains(key) && !block.contains(key) && !stored.contains(key)
  }

  func areTemporary(_ keys: Range<Int64>) -> Bool {
    reserved.contains(all: keys) && !block.overlaps(keys) && !stored.overlaps(keys)
  }

  /// Notes stored keys; those that were not drawn here are never temporary.
  mutating func noteStored(_ keys: Range<Int64>) {
    if reserved.contains(keys.lowerBound) { stored.insert(keys) }
  }
}

/// A set of keys that mostly follow each other: disjoint ranges in order, adjacent ones joined.
private struct KeyRanges: Sendable {
  private var ranges: [Range<Int64>] = []

  /// - Complexity: O(log n).
  func contains(_ key: Int64) -> Bool {
    let index = partitioningIndex { $0.upperBound > key }
    return index < ranges.count && ranges[index].contains(key)
  }

  /// - Complexity: O(log n).
  func contains(all keys: Range<Int64>) -> Bool {
    let index = partitioningIndex { $0.upperBound > keys.lowerBound }
    return index < ranges.count && ranges[index].contains(keys)
  }

  /// - Complexity: O(log n).
  func overlaps(_ keys: Range<Int64>) -> Bool {
    let index = partitioningIndex { $0.upperBound > keys.lowerBound }
    return index < ranges.count && ranges[index].overlaps(keys)
  }

  mutating func insert(_ keys: Range<Int64>) {
    let index = partitioningIndex { $0.upperBound >= keys.lowerBound }
    var range = keys
    var end = index
    while end < ranges.count, ranges[end].lowerBound <= range.upperBound {
      range = min(range.lowerBound, ranges[end].lowerBound)..<max(range.upperBound, ranges[end].upperBound)
      end += 1
    }
    ranges.replaceSubrange(index..<end, with: CollectionOfOne(range))
  }

  /// The first range that satisfies a condition which all later ones satisfy too; binary search.
  private func partitioningIndex(where belongsToEnd: (Range<Int64>) -> Bool) -> Int {
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if belongsToEnd(ranges[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
