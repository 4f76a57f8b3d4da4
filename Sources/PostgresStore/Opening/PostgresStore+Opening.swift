package import ObjectModel
import SQLGeneration
package import StoreInterface

extension PostgresStore {
  /// Opens a store, or makes it.
  ///
  /// - Throws: ``StoreError`` that says what is wrong with the way to it, with its format or its model.
  package convenience init(
    _ url: String, model: ManagedObjectModel, coordinatorOrdinal: UInt32, options: PostgresStoreOptions = .init()
  ) throws(StoreError) {
    let schema = Schema(model, dialect: .postgres)
    let opener = try StoreOpener(url, schema: schema, options: options)
    let (connection, identifier) = try opener.open()
    self.init(
      connection, opener.settings, schema: schema, identifier: identifier, ordinal: coordinatorOrdinal,
      options: options, isEnclosed: false)
  }
}
