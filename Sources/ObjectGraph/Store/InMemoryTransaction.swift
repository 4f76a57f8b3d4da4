import ObjectModel

/// Reads and writes a copy of an in-memory store's state, which takes the state's place at the end.
final class InMemoryTransaction: StoreTransaction {
  private(set) var state: InMemoryState
  private(set) var derived: [DerivedValue] = []
  private let model: ManagedObjectModel

  init(_ state: InMemoryState, model: ManagedObjectModel) {
    self.state = state
    self.model = model
  }

  var reader: InMemoryReader { InMemoryReader(tables: state.tables, links: state.links, model: model) }

  func reserveKeys(_ request: KeyReservation) throws(StoreError) -> Range<Int64> { try state.reserve(request) }

  func write(_ set: ChangeSet) throws(StoreError) -> [StoreConflict] {
    let rows = try InMemoryRows(StoreSaveRequest([set]), model: model)
    let conflicts = state.conflicts(of: rows)
    if !conflicts.isEmpty { return conflicts }
    derived += try state.write(rows, try state.uniqueEntries(of: rows))
    return []
  }

  func row(for id: ManagedObjectID) throws(StoreError) -> StoredRow? { try reader.row(for: id) }

  func rows(for ids: [ManagedObjectID]) throws(StoreError) -> [StoredRow?] { try reader.rows(for: ids) }

  func links(of id: ManagedObjectID, _ property: Property) throws(StoreError) -> [Link] {
    try reader.links(of: id, property)
  }

  func fetch(_ query: StoreQuery, _ body: (ManagedObjectID, StoredRow?) throws -> Bool) throws {
    try reader.fetch(query, body)
  }

  func count(_ query: StoreQuery) throws -> Int { try reader.count(query) }
}
