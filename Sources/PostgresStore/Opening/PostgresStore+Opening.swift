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

  /// The changes that opening a store would make to its tables, a sentence for each, and whether all of them only add
  /// something; nothing is changed.
  ///
  /// - Throws: ``StoreError`` as opening would, but for what only a look at all rows shows.
  package static func changes(
    byOpening url: String, model: ManagedObjectModel, options: PostgresStoreOptions = .init()
  ) throws(StoreError) -> (changes: [String], onlyAdds: Bool) {
    try StoreOpener(url, schema: Schema(model, dialect: .postgres), options: options).changes()
  }
}
