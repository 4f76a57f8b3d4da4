import Foundation
import ObjectModel

/// Reads values of rows and of the rows that they lead to, each of which is read once.
struct RelatedRows {
  private var rows: [ManagedObjectID: Row?] = [:]

  mutating func value(
    _ column: FetchColumn, _ id: ManagedObjectID, row: Row, related: RelatedObjects
  ) throws -> Value {
    switch column.source {
    case .property(let path): try value(path, row, related: related)
    case .value(let value): value
    case .objectID: id.uriRepresentation.map(Value.url) ?? .null
    case .computed(let reader, let type):
      try reader.read(EvaluationScope(id: id, row: row, related: related)) { Value($0, type) }
    case .aggregate: .null
    }
  }

  /// The value at the end of a path; null where a relationship leads nowhere.
  mutating func value(
    _ path: PropertyPath, _ row: Row, related: RelatedObjects
  ) throws -> Value {
    var row = row
    for relationship in path.relationships {
      guard let id = row.referenceIfPresent(relationship.slot), let next = try self.row(id, related) else {
        return .null
      }
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

  private mutating func row(_ id: ManagedObjectID, _ related: RelatedObjects) throws -> Row? {
    if let known = rows[id] { return known }
    let row = try related.row(id)
    rows[id] = .some(row)
    return row
  }
}

extension Value {
  /// Makes a value of its type from a computed scalar.
  fileprivate init(_ scalar: Scalar, _ type: OperandType) {
    switch (scalar, type) {
    case (.null, _): self = .null
    case (.integer(let number), .boolean): self = .boolean(number != 0)
    case (.integer(let number), _): self = .integer(number)
    case (.real(let number), .date): self = .date(Date(timeIntervalSinceReferenceDate: number))
    case (.real(let number), _): self = .double(number)
    case (.object(let id), _): self = id.uriRepresentation.map(Value.url) ?? .null
    case (.bytes(let bytes), .uuid): self = .uuid(UUID(uuid: bytes.loadUnaligned(as: uuid_t.self)))
    case (.bytes(let bytes), _):
      let text = String(decoding: bytes, as: UTF8.self)
      switch type {
      case .decimal: self = Decimal(string: text).map(Value.decimal) ?? .null
      case .uri: self = URL(string: text).map(Value.url) ?? .null
      default: self = .string(text)
      }
    }
  }
}
