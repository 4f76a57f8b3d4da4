internal import CSQLite
internal import Foundation
import ObjectGraph
import ObjectModel
import SQLGeneration

/// Makes rows of one entity from the columns of a result.
final class RowDecoder: Sendable {
  struct Field: Sendable {
    let slot: Int
    let column: Int32
    let storage: StorageClass
    /// The column that tells the destination's entity, or -1.
    var entityColumn: Int32 = -1
    /// The destination of a reference.
    var destination: Entity?
  }

  let entity: Entity
  let layout: RowLayout
  private let fields: [Field]
  private let versionColumn: Int32
  private let model: ManagedObjectModel
  private let files: ExternalFiles

  /// - Parameter columns: the names of the result's columns.
  init(_ entity: Entity, columns: [String], model: ManagedObjectModel, files: ExternalFiles) {
    var places: [String: Int32] = [:]
    for (place, name) in columns.enumerated() { places[name] = Int32(place) }
    self.entity = entity
    layout = RowLayout(entity)
    self.model = model
    self.files = files
    versionColumn = places[SchemaName.version] ?? 1
    fields = entity.properties.compactMap { property in
      guard property.isPersistent, let column = places[property.name] else { return nil }
      var field = Field(slot: property.slot, column: column, storage: property.storage)
      field.destination = property.destination
      field.entityColumn = SchemaName.entityColumn(of: property).flatMap { places[$0] } ?? -1
      return field
    }
  }

  /// The row that a statement stands on, under its stored version.
  func row(_ statement: Statement, ordinal: UInt32) -> Row {
    var tail = 0
    for field in fields {
      switch field.storage {
      case .text: tail += statement.textBytes(field.column).count
      case .bytes, .reference: tail += 16
      case .integer, .real, .blob, .toMany: break
      }
    }
    var row = Row(layout, tailCapacity: tail)
    for field in fields where !statement.isNull(field.column) {
      switch field.storage {
      case .integer: row.setInteger(statement.integer(field.column), field.slot)
      case .real: row.setReal(statement.real(field.column), field.slot)
      case .text: row.setBytes(statement.textBytes(field.column), field.slot)
      case .bytes:
        // A UUID is read as 16 bytes, so another length, which only a foreign client can write, counts as none.
        let bytes = statement.blobBytes(field.column)
        if bytes.count == 16 { row.setBytes(bytes, field.slot) }
      case .blob: row.setBlob(blob(statement, field.column), field.slot)
      case .reference:
        guard let destination = destination(of: field, statement) else { continue }
        let key = statement.integer(field.column)
        row.setReference(ManagedObjectID(key: key, entity: destination, coordinatorOrdinal: ordinal), field.slot)
      case .toMany: break
      }
    }
    row.stamp(version: statement.integer(versionColumn))
    return row
  }

  private func destination(of field: Field, _ statement: Statement) -> Entity? {
    guard field.entityColumn >= 0, !statement.isNull(field.entityColumn) else { return field.destination }
    return model.entitiesByName[statement.text(field.entityColumn)] ?? field.destination
  }

  private func blob(_ statement: Statement, _ column: Int32) -> Blob {
    if statement.type(column) == SQLITE_TEXT { return files.blob(named: statement.text(column)) }
    let bytes = statement.blobBytes(column)
    return Blob(Data(bytes))
  }
}
