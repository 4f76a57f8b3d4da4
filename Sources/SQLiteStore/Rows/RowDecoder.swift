import CSQLite
import Foundation
import ObjectModel
import SQLGeneration
import StoreInterface

/// Makes rows of one entity from the columns of a result.
final class RowDecoder: Sendable {
  struct Field: Sendable {
    let slot: Int
    let column: Int32
    let storage: StorageClass
    /// The column that tells the destination's entity, or -1.
    var entityColumn: Int32 = -1
    /// The destination of a reference; the model keeps it.
    ///
    /// Not `unowned(unsafe)`: for an optional of that kind debug builds never see the end of `enumerated()` (Swift 6.3).
    var destination: Unmanaged<Entity>?
  }

  let entity: Entity
  let layout: RowLayout
  private let rootIndex: UInt16
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
    rootIndex = UInt16(truncatingIfNeeded: entity.rootIndex)
    self.model = model
    self.files = files
    versionColumn = places[SchemaName.version] ?? 1
    fields = entity.properties.compactMap { property in
      guard property.isPersistent, let column = places[property.columnName] else { return nil }
      var field = Field(slot: property.slot, column: column, storage: property.storage)
      field.destination = property.destination.map(Unmanaged.passUnretained)
      field.entityColumn = property.entityColumnName.flatMap { places[$0] } ?? -1
      return field
    }
  }

  /// The ID of the row that a statement stands on, whose first column is the key.
  @inline(__always)
  func id(_ statement: Statement, ordinal: UInt32) -> ManagedObjectID {
    ManagedObjectID(
      key: statement.integer(0), entityIndex: layout.entityIndex, rootIndex: rootIndex, coordinatorOrdinal: ordinal)
  }

  /// The row that a statement stands on, under its stored version.
  func row(_ statement: Statement, ordinal: UInt32) -> StoredRow {
    withUnsafeTemporaryAllocation(of: UnsafeRawBufferPointer.self, capacity: fields.count) { texts in
      // SQLite is asked once per text: for the room that the row needs, and for what goes there.
      var tail = 0
      for (place, field) in fields.enumerated() {
        switch field.storage {
        case .text:
          let text = statement.textBytes(field.column)
          texts[place] = text
          tail += text.count
        case .bytes, .reference: tail += 16
        case .integer, .real, .blob, .toMany: break
        }
      }
      var row = RowFiller(layout, tailCapacity: tail)
      for (place, field) in fields.enumerated() {
        if field.storage == .text {
          // Only a null has no address; the empty text has one.
          if texts[place].baseAddress != nil { row.setBytes(texts[place], field.slot) }
        } else {
          fill(&row, field, statement: statement, ordinal: ordinal)
        }
      }
      return row.finish(version: statement.integer(versionColumn))
    }
  }

  @inline(__always)
  private func fill(_ row: inout RowFiller, _ field: Field, statement: Statement, ordinal: UInt32) {
    // A null reads as 0, so only zeros need a second look.
    switch field.storage {
    case .integer:
      let number = statement.integer(field.column)
      if number != 0 || !statement.isNull(field.column) { row.setInteger(number, field.slot) }
    case .real:
      let number = statement.real(field.column)
      if number != 0 || !statement.isNull(field.column) { row.setReal(number, field.slot) }
    case .bytes:
      // A UUID is read as 16 bytes, so another length, which only a foreign client can write, counts as none.
      let bytes = statement.blobBytes(field.column)
      if bytes.count == 16 { row.setBytes(bytes, field.slot) }
    case .blob:
      if !statement.isNull(field.column) { row.setBlob(blob(statement, field.column), field.slot) }
    case .reference:
      guard !statement.isNull(field.column), let destination = destination(of: field, statement) else { return }
      let key = statement.integer(field.column)
      row.setReference(ManagedObjectID(key: key, entity: destination, coordinatorOrdinal: ordinal), field.slot)
    case .text, .toMany: break
    }
  }

  private func destination(of field: Field, _ statement: Statement) -> Entity? {
    let usual = field.destination?.takeUnretainedValue()
    guard field.entityColumn >= 0, !statement.isNull(field.entityColumn) else { return usual }
    return model.entitiesByName[statement.text(field.entityColumn)] ?? usual
  }

  private func blob(_ statement: Statement, _ column: Int32) -> Blob {
    if statement.type(column) == SQLITE_TEXT { return files.blob(named: statement.text(column)) }
    let bytes = statement.blobBytes(column)
    return Blob(Data(bytes))
  }
}

/// Makes rows from results that have the columns of a table, in any order; the key is the first.
struct FamilyDecoder {
  private let table: SchemaTable
  private let model: ManagedObjectModel
  private let files: ExternalFiles
  private let columns: [String]
  private let entityColumn: Int32?
  /// The decoder of all rows of a table that has one entity only.
  private(set) var single: RowDecoder?
  private var decoders: [String: RowDecoder] = [:]
  private var latest: (name: String, decoder: RowDecoder)?

  /// - Parameter columns: the names of the result's columns.
  init(_ table: SchemaTable, columns: [String], schema: Schema, files: ExternalFiles) {
    self.table = table
    self.columns = columns
    entityColumn = columns.firstIndex(of: SchemaName.entity).map(Int32.init)
    model = schema.model
    self.files = files
    if entityColumn == nil { single = decoder(table.root) }
  }

  /// Prepares for all entities of the table, so that copies need not.
  mutating func prepare() {
    for entity in table.members { decoders[entity.name] = decoder(entity) }
  }

  /// The row that the statement stands on; nil if the model does not know its entity any more.
  mutating func row(_ statement: Statement, ordinal: UInt32) -> StoredRow? {
    decoder(statement)?.row(statement, ordinal: ordinal)
  }

  /// Returns the decoder of the statement's current row; nil if the model no longer knows its entity.
  mutating func decoder(_ statement: Statement) -> RowDecoder? {
    guard let entityColumn else { return single }
    let name = statement.text(entityColumn)
    if let latest, latest.name == name { return latest.decoder }
    if let known = decoders[name] {
      latest = (name, known)
      return known
    }
    guard let entity = model.entitiesByName[name], entity.root === table.root else { return nil }
    let made = decoder(entity)
    decoders[name] = made
    latest = (name, made)
    return made
  }

  private func decoder(_ entity: Entity) -> RowDecoder {
    RowDecoder(entity, columns: columns, model: model, files: files)
  }
}

/// The names of a model's entities as bytes that stay in place, to be bound without a copy.
final class EntityNames: @unchecked Sendable {
  // @unchecked: the memory is written in the initializer and only read afterwards.

  private let memory: [UnsafeMutableRawBufferPointer]

  init(_ model: ManagedObjectModel) {
    memory = model.entities.map { entity in
      let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: entity.name.utf8.count, alignment: 1)
      bytes.copyBytes(from: entity.name.utf8)
      return bytes
    }
  }

  deinit { for bytes in memory { bytes.deallocate() } }

  subscript(entityIndex: UInt16) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory[Int(entityIndex)]) }
}
