public import Foundation

extension PersistentStoreDescription {
  /// An SQLite file and, for large values, the folder `<name>_files` beside it; both are made if they are missing.
  ///
  /// Opening throws a `StoreError` if something else lies there, or a store of a newer release or another model, or if the
  /// URL is none of a file.
  public static func sqlite(at url: URL, options: SQLiteStoreOptions = SQLiteStoreOptions()) -> Self {
    Self { model, ordinal in
      try SQLiteStore(at: url, model: model, coordinatorOrdinal: ordinal, options: options)
    }
  }
}
