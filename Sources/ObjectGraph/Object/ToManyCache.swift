/// The cached destinations of a to-many relationship, valid until they are changed from outside.
struct ToManyCache {
  private(set) var ids: Set<ManagedObjectID>
  /// The same in their order, if they have one.
  private(set) var sequence: [ManagedObjectID]
  /// The registry's generation in which the IDs were found.
  var generation: Int
  private let isOrdered: Bool

  init(ids: some Collection<ManagedObjectID>, generation: Int, isOrdered: Bool = false) {
    self.ids = Set(ids)
    self.generation = generation
    self.isOrdered = isOrdered
    sequence = isOrdered ? Array(ids) : []
  }

  /// Adds a destination at the end.
  mutating func append(_ id: ManagedObjectID) {
    if ids.insert(id).inserted, isOrdered { sequence.append(id) }
  }

  mutating func remove(_ id: ManagedObjectID) {
    if ids.remove(id) != nil, isOrdered { sequence.removeAll { $0 == id } }
  }

  mutating func set(_ id: ManagedObjectID, isPresent: Bool) {
    if isPresent { append(id) } else { remove(id) }
  }
}
