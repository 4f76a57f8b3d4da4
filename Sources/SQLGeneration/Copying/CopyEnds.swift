package import Foundation
package import ObjectModel
package import StoreInterface

/// A store's own account of itself, beside its rows.
package struct CopiedStore: Sendable {
  /// A history that a store keeps.
  package struct History: Sendable {
    /// The number of the newest transaction that there was.
    package let newest: Int64
    /// The number of the newest one that was deleted, if any was.
    package let purged: Int64?

    package init(newest: Int64, purged: Int64?) {
      self.newest = newest
      self.purged = purged
    }
  }

  package let identifier: UUID
  package let model: ManagedObjectModel
  /// The next key of each table, by the name of its root entity.
  package let nextKeys: [String: Int64]
  package let history: History?
  /// Tables that are no entity's and no copy has.
  package let foreignTables: [String]
  /// The reasons why the store can't be copied, in sentences.
  package let obstacles: [String]

  package init(
    identifier: UUID, model: ManagedObjectModel, nextKeys: [String: Int64], history: History?,
    foreignTables: [String], obstacles: [String]
  ) {
    self.identifier = identifier
    self.model = model
    self.nextKeys = nextKeys
    self.history = history
    self.foreignTables = foreignTables
    self.obstacles = obstacles
  }

  /// All tables of the model, and of the history if it is kept.
  package var tables: [CopiedTable] { CopiedTable.all(of: model) + (history == nil ? [] : CopiedTable.history) }
}

extension StoredModel {
  /// The model, for a copy.
  ///
  /// - Parameter place: the store, for messages.
  /// - Throws: ``StoreError`` if the store does not tell it.
  package func copied(place: String) throws(StoreError) -> ManagedObjectModel {
    guard let model = try model(place: place) else {
      throw StoreError(
        .incompatibleModel,
        "the store is of the first releases and does not tell its model; open it once with this release's daemon",
        path: place)
    }
    return model
  }

  /// Sentences for entities whose tables were kept although the model has lost them.
  package func lostEntities(besides model: ManagedObjectModel) -> [String] {
    names.filter { model.entitiesByName[$0] == nil }.sorted().map { name in
      "the objects of \(name) were kept when their model file went missing; put it back and start the daemon once, or drop "
        + "them by \"drop \(name)\" in migration.conf"
    }
  }
}

/// The number of rows of a table, and of the bytes in their texts and binary values.
package struct CopiedSize: Sendable, Hashable {
  package var rows: Int64
  package var bytes: Int64

  package init(rows: Int64 = 0, bytes: Int64 = 0) {
    self.rows = rows
    self.bytes = bytes
  }
}

/// A store that is read from beginning to end, as it was when it was opened. Not thread-safe.
package protocol CopySource: AnyObject {
  /// The store, for messages.
  var place: String { get }
  var store: CopiedStore { get }

  func size(of table: CopiedTable) throws(StoreError) -> CopiedSize

  /// Begins to read the rows behind a key, in the order of the keys; one table is read at a time.
  func rows(of table: CopiedTable, after key: CopyKey?) throws(StoreError) -> any CopyRowReader

  /// Calls a body with the pieces of a large value.
  func readLargeValue(
    _ name: String, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError)

  /// - Throws: ``StoreError/Code/busy`` if somebody has begun to use the store since it was opened.
  func checkUnused() throws(StoreError)
}

/// The rows of one table.
package protocol CopyRowReader: AnyObject {
  /// Reads rows until they have so many bytes; none are left when it adds none.
  func read(into rows: inout CopiedRows, byteLimit: Int) throws(StoreError)
}

/// A new store that is being filled. Nobody can open it before it is finished. Not thread-safe.
package protocol CopyTarget: AnyObject {
  /// The store, for messages.
  var place: String { get }
  /// The last keys that an earlier copy has written, by the names of the tables.
  var progress: [String: CopyKey] { get }

  /// Writes rows with their large values, and how far the table has come, in one transaction.
  func write(_ rows: CopiedRows, to table: CopiedTable, from source: any CopySource) throws(StoreError)

  /// Reads what was written so far.
  func reader() throws(StoreError) -> any CopySource

  /// Makes a store of what was written.
  func finish() throws(StoreError)
}
