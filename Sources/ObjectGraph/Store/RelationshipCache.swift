import ObjectModel

/// The destinations of to-many relationships as the store has them, shared by the contexts of a coordinator; bounded.
struct RelationshipCache {
  private struct Key: Hashable {
    let owner: ManagedObjectID
    let slot: Int
  }

  private var destinations: [Key: [ManagedObjectID]] = [:]
  private var count = 0
  /// How many IDs to keep, each 16 bytes; with one more all go.
  private static let limit = 1 << 18

  /// The destinations in their order, or nil if nobody has asked for them since the last save.
  func destinations(of owner: ManagedObjectID, _ property: Property) -> [ManagedObjectID]? {
    destinations[Key(owner: owner, slot: property.slot)]
  }

  mutating func insert(_ ids: [ManagedObjectID], of owner: ManagedObjectID, _ property: Property) {
    if count + ids.count > Self.limit { self = RelationshipCache() }
    guard ids.count <= Self.limit else { return }
    let replaced = destinations.updateValue(ids, forKey: Key(owner: owner, slot: property.slot))
    count += ids.count - (replaced?.count ?? 0)
  }
}
