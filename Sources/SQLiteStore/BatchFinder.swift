internal import CSQLite
import ObjectModel
import SQLGeneration
import StoreInterface

/// Looks for the stored objects that have the values of a batch's rows in some columns.
struct BatchFinder {
  private let batch: RowBatch
  private let key: [Property]
  private let table: SchemaTable
  private let model: ManagedObjectModel

  init(_ batch: RowBatch, key: [Property], table: SchemaTable, model: ManagedObjectModel) {
    self.batch = batch
    self.key = key
    self.table = table
    self.model = model
  }

  func run(_ connection: Connection, names: EntityNames) throws(StoreError) -> [ManagedObjectID?] {
    let binder = BatchBinder(batch)
    guard !key.isEmpty, key.allSatisfy({ property in binder.properties.contains { $0 === property } }) else {
      return Array(repeating: nil, count: batch.count)
    }
    let statement = try connection.prepare(table.findSQL(batch.entity, binder.properties, key: key))
    defer { connection.recycle(statement) }
    let start = connection.started()
    var found: [ManagedObjectID?] = []
    found.reserveCapacity(batch.count)
    let code = binder.withSources { sources in
      let sources = sources.filter { source in key.contains { $0.slot == source.slot } }
      for row in 0..<batch.count {
        for source in sources { BatchBinder.bind(source, row, statement, names) }
        let code = statement.step()
        switch code {
        case SQLITE_ROW: found.append(id(statement))
        case SQLITE_DONE: found.append(nil)
        default: return code
        }
        statement.reset()
      }
      return SQLITE_OK
    }
    if code != SQLITE_OK {
      let error = connection.error(code, sql: statement.sql)
      statement.reset()
      throw error
    }
    connection.finished(statement.sql, start, rowCount: found.count)
    return found
  }

  private func id(_ statement: Statement) -> ManagedObjectID {
    let entity = table.tellsEntity ? model.entitiesByName[statement.text(1)] ?? batch.entity : batch.entity
    return ManagedObjectID(
      key: statement.integer(0), entity: entity, coordinatorOrdinal: batch.coordinatorOrdinal)
  }
}
