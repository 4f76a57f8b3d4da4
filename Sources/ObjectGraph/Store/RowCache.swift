/// The rows that were read or saved lately, shared by the contexts of a coordinator; bounded by bytes.
///
/// Two generations instead of a list of uses: when the young one is full it becomes the old one, and what is read from
/// the old one becomes young again.
struct RowCache {
  private var young: [ManagedObjectID: Row] = [:]
  private var old: [ManagedObjectID: Row] = [:]
  private var youngBytes = 0
  private let generationBytes: Int
  /// Counts saves, so that a reader does not put rows here that a save has overtaken.
  private let saveCount: SaveCount
  /// Destinations of to-many relationships; any save may change them.
  var relationships = RelationshipCache()

  init(byteLimit: Int, saveCount: SaveCount) {
    generationBytes = byteLimit / 2
    self.saveCount = saveCount
  }

  mutating func row(for id: ManagedObjectID) -> Row? {
    if let row = young[id] { return row }
    guard let row = old.removeValue(forKey: id) else { return nil }
    insert(row, for: id)
    return row
  }

  /// The row without making it young again.
  func peek(_ id: ManagedObjectID) -> Row? { young[id] ?? old[id] }

  func contains(_ id: ManagedObjectID) -> Bool { young[id] != nil || old[id] != nil }

  /// All rows that are kept.
  var all: [ManagedObjectID: Row] { old.merging(young) { $1 } }

  mutating func insert(_ row: Row, for id: ManagedObjectID) {
    if youngBytes >= generationBytes {
      old = young
      young = [:]
      youngBytes = 0
    }
    if young.updateValue(row, forKey: id) == nil { youngBytes += row.byteCount }
  }

  mutating func remove(_ id: ManagedObjectID) {
    young.removeValue(forKey: id)
    old.removeValue(forKey: id)
  }

  /// Removes rows that others have changed; readers that began before must not bring them back.
  mutating func forget(_ ids: some Sequence<ManagedObjectID>) {
    for id in ids { remove(id) }
    noteSave()
  }

  /// Removes all rows of some families, by the indexes of their root entities.
  mutating func forget(roots: Set<Int>) {
    func isStale(_ entry: (key: ManagedObjectID, value: Row)) -> Bool { roots.contains(Int(entry.key.rootIndex)) }
    if young.contains(where: isStale) { young = young.filter { !isStale($0) } }
    if old.contains(where: isStale) { old = old.filter { !isStale($0) } }
    noteSave()
  }

  mutating func removeAll() {
    young = [:]
    old = [:]
    youngBytes = 0
    noteSave()
  }

  private mutating func noteSave() {
    saveCount.increment()
    relationships = RelationshipCache()
  }

  /// How many rows of a save are kept that were not here before; all of a large one would only push out the rest.
  private static let newRowLimit = 1_000

  /// Takes notice of what a save wrote: rows that were here are replaced.
  ///
  /// - Parameter kept: the part of a row that others may see.
  mutating func apply(_ sets: [ChangeSet], kept: (Row) -> Row) {
    noteSave()
    var newRows = 0
    for set in sets where !set.isAllInserts {
      let changes = set.changes
      for index in changes.indices {
        let id = changes[index].id
        if changes[index].kind == .delete { remove(id) }
        guard changes[index].kind == .update else { continue }
        let isKnown = contains(id)
        if !isKnown, newRows >= Self.newRowLimit { continue }
        newRows += isKnown ? 0 : 1
        if let row = changes[index].row {
          old.removeValue(forKey: id)
          insert(kept(row), for: id)
        }
      }
    }
  }
}
