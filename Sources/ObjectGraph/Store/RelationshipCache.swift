import ObjectModel

/// The destinations of to-many relationships as the store has them, shared by the contexts of a coordinator; bounded.
struct RelationshipCache {
  private struct Key: Hashable {
    let owner: ManagedObjectID
    let slot: Int
  }

  private struct Entry {
    let ids: [ManagedObjectID]
    let time: RowTime
  }

  private var destinations: [Key: Entry] = [:]
  /// The size of the lists, without their table.
  private var byteCount = 0
  /// The bytes that lists and table may take together; one list more drops all.
  private static let limit = 4 << 20

  /// The destinations in their order, or nil if nobody has asked for them since the last save, or since `oldest`.
  func destinations(of owner: ManagedObjectID, _ property: Property, since oldest: RowTime) -> [ManagedObjectID]? {
    destinations[Key(owner: owner, slot: property.slot)].flatMap { $0.time >= oldest ? $0.ids : nil }
  }

  /// - Parameter time: when the read of them began.
  mutating func insert(_ ids: [ManagedObjectID], of owner: ManagedObjectID, property: Property, time: RowTime) {
    let bytes = Allocation.byteCount(ofElements: ids.capacity * MemoryLayout<ManagedObjectID>.stride)
    let table = Allocation.byteCount(
      ofTable: destinations.capacity, entry: MemoryLayout<Key>.stride + MemoryLayout<Entry>.stride)
    if byteCount + table + bytes > Self.limit { self = RelationshipCache() }
    guard bytes <= Self.limit else { return }
    let replaced = destinations.updateValue(
      Entry(ids: ids, time: time), forKey: Key(owner: owner, slot: property.slot))
    byteCount += bytes
    if let replaced {
      byteCount -= Allocation.byteCount(ofElements: replaced.ids.capacity * MemoryLayout<ManagedObjectID>.stride)
    }
  }
}
