import Foundation
import ObjectModel
import SQLGeneration
import StoreInterface

/// Makes rows of one entity from the columns of a result.
final class RowDecoder: Sendable {
  private struct Field: Sendable {
    let slot: Int
    let column: Int
    let storage: StorageClass
    /// The column that tells the destination's entity, or the file of a large value; -1 if there is none.
    var besideColumn = -1
    /// The destination of a reference; the model keeps it.
    var destination: Unmanaged<Entity>?
  }

  private let layout: RowLayout
  private let rootIndex: UInt16
  private let fields: [Field]
  private let keyColumn: Int
  private let versionColumn: Int
  private let model: ManagedObjectModel
  private let largeValue: LargeValueReader

  /// - Parameter columns: the names of the result's columns.
  init(_ entity: Entity, columns: [String], schema: Schema, largeValue: @escaping LargeValueReader) {
    var places: [String: Int] = [:]
    for (place, name) in columns.enumerated() { places[name] = place }
    let dialect = schema.dialect
    layout = RowLayout(entity)
    rootIndex = UInt16(truncatingIfNeeded: entity.rootIndex)
    model = schema.model
    self.largeValue = largeValue
    keyColumn = places[SchemaName.key] ?? 0
    versionColumn = places[SchemaName.version] ?? 1
    fields = entity.properties.compactMap { property in
      guard property.isPersistent, let column = places[dialect.columnName(of: property)] else { return nil }
      var field = Field(slot: property.slot, column: column, storage: property.storage)
      field.destination = property.destination.map(Unmanaged.passUnretained)
      let beside = dialect.entityColumnName(of: property) ?? dialect.fileColumnName(of: property)
      field.besideColumn = beside.flatMap { places[$0] } ?? -1
      return field
    }
  }

  /// The ID of a row's object.
  @inline(__always)
  func id(_ result: QueryResult, _ row: Int, ordinal: UInt32) -> ManagedObjectID {
    ManagedObjectID(
      key: result.integer(row, keyColumn), entityIndex: layout.entityIndex, rootIndex: rootIndex,
      coordinatorOrdinal: ordinal)
  }

  /// A row under its stored version.
  func row(_ result: QueryResult, _ place: Int, ordinal: UInt32) -> StoredRow {
    var tail = 0
    for field in fields {
      switch field.storage {
      case .text: tail += result.bytes(place, field.column).count
      case .bytes, .reference: tail += 16
      case .integer, .real, .blob, .toMany: break
      }
    }
    var row = RowFiller(layout, tailCapacity: tail)
    for field in fields where field.storage == .blob || !result.isNull(place, field.column) {
      fill(&row, field, from: result, at: place, ordinal: ordinal)
    }
    return row.finish(version: result.integer(place, versionColumn))
  }

  /// Sets a value that is not null, or a blob, which may lie elsewhere.
  @inline(__always)
  private func fill(
    _ row: inout RowFiller, _ field: Field, from result: QueryResult, at place: Int, ordinal: UInt32
  ) {
    switch field.storage {
    case .integer: row.setInteger(result.integer(place, field.column), field.slot)
    case .real: row.setReal(result.real(place, field.column), field.slot)
    case .text: row.setBytes(result.bytes(place, field.column), field.slot)
    case .bytes:
      // A UUID is read as 16 bytes, so another length, which only a foreign client can write, counts as none.
      let bytes = result.bytes(place, field.column)
      if bytes.count == 16 { row.setBytes(bytes, field.slot) }
    case .blob:
      if field.besideColumn >= 0, !result.isNull(place, field.besideColumn) {
        row.setBlob(largeValue(result.text(place, field.besideColumn)), field.slot)
      } else if !result.isNull(place, field.column) {
        row.setBlob(Blob(Data(result.bytes(place, field.column))), field.slot)
      }
    case .reference:
      guard let destination = destination(of: field, in: result, at: place) else { return }
      let key = result.integer(place, field.column)
      row.setReference(ManagedObjectID(key: key, entity: destination, coordinatorOrdinal: ordinal), field.slot)
    case .toMany: break
    }
  }

  private func destination(of field: Field, in result: QueryResult, at place: Int) -> Entity? {
    let usual = field.destination?.takeUnretainedValue()
    guard field.besideColumn >= 0, !result.isNull(place, field.besideColumn) else { return usual }
    return model.entitiesByName[result.text(place, field.besideColumn)] ?? usual
  }
}

/// Makes rows from results that have the columns of a table, in any order.
struct FamilyDecoder: Sendable {
  private let table: SchemaTable
  private let schema: Schema
  private let largeValue: LargeValueReader
  private let columns: [String]
  private let entityColumn: Int?
  private var decoders: [String: RowDecoder] = [:]
  private var latest: (name: String, decoder: RowDecoder)?

  /// - Parameter columns: the names of the result's columns.
  init(_ table: SchemaTable, columns: [String], schema: Schema, largeValue: @escaping LargeValueReader) {
    self.table = table
    self.columns = columns
    self.schema = schema
    self.largeValue = largeValue
    entityColumn = columns.firstIndex(of: SchemaName.entity)
    if entityColumn == nil { latest = (table.root.name, decoder(table.root)) }
  }

  /// Prepares for all entities of the table, so that copies need not.
  mutating func prepare() {
    for entity in table.members { decoders[entity.name] = decoder(entity) }
  }

  /// Returns the decoder of a row; nil if the model no longer knows its entity.
  mutating func decoder(_ result: QueryResult, _ row: Int) -> RowDecoder? {
    guard let entityColumn else { return latest?.decoder }
    let name = result.text(row, entityColumn)
    if let latest, latest.name == name { return latest.decoder }
    if let known = decoders[name] {
      latest = (name, known)
      return known
    }
    guard let entity = schema.model.entitiesByName[name], entity.root === table.root else { return nil }
    let made = decoder(entity)
    decoders[name] = made
    latest = (name, made)
    return made
  }

  private func decoder(_ entity: Entity) -> RowDecoder {
    RowDecoder(entity, columns: columns, schema: schema, largeValue: largeValue)
  }
}
