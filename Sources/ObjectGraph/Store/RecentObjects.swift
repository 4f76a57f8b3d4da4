/// A bounded set of recent objects.
struct RecentObjects {
  private var young: Set<ManagedObjectID> = []
  private var old: Set<ManagedObjectID> = []
  static let generationLimit = 1 << 14

  var isEmpty: Bool { young.isEmpty && old.isEmpty }

  func contains(_ id: ManagedObjectID) -> Bool { young.contains(id) || old.contains(id) }

  mutating func insert(_ id: ManagedObjectID) {
    if young.count >= Self.generationLimit {
      old = young
      young = []
    }
    young.insert(id)
  }

  mutating func remove(_ id: ManagedObjectID) {
    young.remove(id)
    old.remove(id)
  }

  /// Removes the objects that meet a condition.
  mutating func remove(where isMeant: (ManagedObjectID) -> Bool) {
    for id in young where isMeant(id) { young.remove(id) }
    for id in old where isMeant(id) { old.remove(id) }
  }
}
