import ObjectModel
import SQLGeneration
import StoreInterface

/// Makes rows from results that have the columns of a table, in any order; the key is the first.
struct FamilyDecoder {
  private let table: SchemaTable
  private let model: ManagedObjectModel
  private let files: ExternalFiles
  private let columns: [String]
  private let entityColumn: Int32?
  /// What decodes all rows of a table that has one entity only.
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

  /// What decodes the row that the statement stands on; nil if the model does not know its entity any more.
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
