package import Foundation
package import ObjectModel
import SQLGeneration
package import StoreInterface

extension SQLiteStore {
  /// Opens a store, or makes it.
  ///
  /// - Throws: ``StoreError`` that says what is wrong with the file, its format or its model.
  package convenience init(
    at url: URL, model: ManagedObjectModel, coordinatorOrdinal: UInt32, options: SQLiteStoreOptions = .init()
  ) throws(StoreError) {
    guard url.scheme == nil || url.isFileURL else {
      throw StoreError(
        .cannotOpen, "a store's URL is that of a file, as URL(fileURLWithPath:) makes it", path: url.absoluteString)
    }
    let path = url.standardizedFileURL.path
    let counter = StatementCounter()
    let schema = Schema(model)
    let opener = StoreOpener(path: path, schema: schema, options: options, counter: counter)
    let connection = try opener.open()
    try self.init(connection, schema, options: options, counter: counter, ordinal: coordinatorOrdinal, enclosing: nil) {
      () throws(StoreError) in try opener.connect(.reader)
    }
    try FileSweep(connection: connection, files: files).run()
  }
}
