import ObjectGraph
import ObjectModel

/// Finds the objects that a relationship of many rows leads to, by a value that they have.
///
/// Each distinct value of a chunk is looked for once, in one statement.
struct RelationshipResolver {
  private let property: Property
  private let key: Property
  private let destination: Entity
  private let missing: ImportColumn.Missing
  private let attribute: AttributeDescription

  /// The rule that a record breaks whose object is not there.
  static let rule = "relationship"

  /// Nil if the column is not a relationship.
  init?(_ column: ImportColumn) {
    guard case .relationship(let key, let attribute, let missing) = column.target,
      let destination = column.property.destination
    else { return nil }
    property = column.property
    self.key = key
    self.attribute = attribute
    self.destination = destination
    self.missing = missing
  }

  /// True if a record is bad if its object is not there.
  var rejects: Bool { missing == .reject }

  /// Returns the error in such a record.
  func message(_ values: RowBatch.Column, _ row: Int) -> String {
    let value = values.text(row).map { "the \(attribute.name) \"\($0)\"" } ?? "this \(attribute.name)"
    return "there is no \(destination.name) with \(value)"
  }

  /// The stored object of each row.
  func find(
    _ values: RowBatch.Column, count: Int, coordinator: PersistentStoreCoordinator, reader: any StoreReader
  ) throws -> [ManagedObjectID?] {
    try reader.find(coordinator.lookupBatch([values], count: count, of: destination), key: [key])
  }

  /// The object of each row; nil where there is none. Rows whose object has to be there and is not are named, too.
  func resolve(
    _ values: RowBatch.Column, count: Int, _ transaction: inout PackedTransaction
  ) throws -> (ids: [ManagedObjectID?], lacking: [Int]) {
    let distinct = DistinctValues(values, count: count)
    let wanted = values.keeping(distinct.isFirst)
    let total = distinct.count
    var found = try transaction.find([wanted], count: total, of: destination, key: [key])
    if missing == .create { try create(&found, wanted, in: &transaction) }
    var ids: [ManagedObjectID?] = []
    ids.reserveCapacity(count)
    var lacking: [Int] = []
    for row in 0..<count {
      guard let place = distinct.places[row] else {
        ids.append(nil)
        continue
      }
      ids.append(found[place])
      if found[place] == nil && rejects { lacking.append(row) }
    }
    return (ids, lacking)
  }

  private func create(
    _ found: inout [ManagedObjectID?], _ wanted: RowBatch.Column, in transaction: inout PackedTransaction
  ) throws {
    let isNew = found.map { $0 == nil }
    let count = isNew.count { $0 }
    if count == 0 { return }
    var columns = [wanted.keeping(isNew)]
    for other in destination.properties {
      guard let attribute = other.attribute, other.slot != key.slot, other.isPersistent,
        let column = ColumnBuilder.constant(attribute, other, count: count)
      else { continue }
      columns.append(column)
    }
    columns.sort { $0.slot < $1.slot }
    let result = try transaction.write(columns, count: count, of: destination)
    var next = 0
    for place in found.indices where isNew[place] {
      if result.outcomes[next] == .inserted {
        found[place] = ManagedObjectID(
          key: result.keys[next], entity: destination, coordinatorOrdinal: transaction.coordinator.ordinal)
      }
      next += 1
    }
  }
}

/// The distinct values of a column's rows.
private struct DistinctValues {
  /// True if no row before has the row's value.
  private(set) var isFirst: [Bool]
  /// The place of each row's value among the distinct ones; nil for null.
  private(set) var places: [Int?]
  private(set) var count = 0

  init(_ column: RowBatch.Column, count rows: Int) {
    isFirst = Array(repeating: false, count: rows)
    places = Array(repeating: nil, count: rows)
    switch column.values {
    case .integers(let values): collect(rows, of: column) { values[$0] }
    case .reals(let values): collect(rows, of: column) { values[$0] }
    case .bytes(let offsets, let arena):
      collect(rows, of: column) { row in [UInt8](arena.bytes(Int(offsets[row])..<Int(offsets[row + 1]))) }
    }
  }

  private mutating func collect<Key: Hashable>(_ rows: Int, of column: RowBatch.Column, _ value: (Int) -> Key) {
    var known: [Key: Int] = [:]
    for row in 0..<rows where !column.isNull(row) {
      let key = value(row)
      if let place = known[key] {
        places[row] = place
      } else {
        known[key] = count
        places[row] = count
        isFirst[row] = true
        count += 1
      }
    }
  }
}

extension RowBatch.Column {
  /// Returns the value of a row for a message, shortened; nil for values other than texts and numbers.
  fileprivate func text(_ row: Int) -> String? {
    switch values {
    case .integers(let values): return "\(values[row])"
    case .reals(let values): return "\(values[row])"
    case .bytes(let offsets, let arena):
      let bytes = arena.bytes(Int(offsets[row])..<Int(offsets[row + 1]))
      guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
      return text.count > 40 ? text.prefix(40) + "…" : text
    }
  }
}
