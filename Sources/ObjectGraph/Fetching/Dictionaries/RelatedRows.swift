import ObjectModel

/// Reads values of rows and of the rows that they lead to, each of which is read once.
struct RelatedRows {
  private var rows: [ManagedObjectID: Row?] = [:]

  mutating func value(
    _ column: FetchColumn, _ id: ManagedObjectID, _ row: Row, _ store: any StoreReader
  ) throws -> Value {
    switch column.source {
    case .property(let path): try value(path, row, store)
    case .constant(let value): value
    case .objectID: id.uriRepresentation.map(Value.url) ?? .null
    case .aggregate: .null
    }
  }

  /// The value at the end of a path; null where a relationship leads nowhere.
  mutating func value(_ path: PropertyPath, _ row: Row, _ store: any StoreReader) throws -> Value {
    var row = row
    for relationship in path.relationships {
      guard let id = row.referenceIfPresent(relationship.slot), let next = try self.row(id, store) else { return .null }
      row = next
    }
    let slot = path.last.slot
    guard let attribute = path.last.attribute else {
      return row.referenceIfPresent(slot).flatMap { $0.uriRepresentation }.map(Value.url) ?? .null
    }
    let value = try row.value(of: attribute, slot)
    // Not-a-number is nil, as in SQLite.
    if case .double(let number) = value, number.isNaN { return .null }
    return value
  }

  private mutating func row(_ id: ManagedObjectID, _ store: any StoreReader) throws -> Row? {
    if let known = rows[id] { return known }
    let row = try store.row(for: id)
    rows[id] = .some(row)
    return row
  }
}
