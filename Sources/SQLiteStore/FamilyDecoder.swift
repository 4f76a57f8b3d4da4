import ObjectGraph
import ObjectModel
import SQLGeneration

/// Makes rows from results that have all columns of a table: key, version, the entity if there are several, values.
struct FamilyDecoder {
  private let table: SchemaTable
  private let model: ManagedObjectModel
  private let files: ExternalFiles
  private var decoders: [String: RowDecoder] = [:]
  private var latest: (name: String, decoder: RowDecoder)?

  init(_ table: SchemaTable, schema: Schema, files: ExternalFiles) {
    self.table = table
    model = schema.model
    self.files = files
    if !table.tellsEntity { latest = (table.name, decoder(table.root)) }
  }

  /// The row that the statement stands on; nil if the model does not know its entity any more.
  mutating func row(_ statement: Statement, ordinal: UInt32) -> Row? {
    decoder(statement)?.row(statement, ordinal: ordinal)
  }

  private mutating func decoder(_ statement: Statement) -> RowDecoder? {
    if !table.tellsEntity { return latest?.decoder }
    let name = statement.text(2)
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
    RowDecoder(entity, columns: table.columnNames, model: model, files: files)
  }
}
