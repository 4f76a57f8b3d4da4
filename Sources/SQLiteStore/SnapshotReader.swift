import ObjectGraph

/// Reads one state of the store through one connection.
struct SnapshotReader: StoreReader {
  let connection: Connection
  let store: SQLiteStore

  func row(for id: ManagedObjectID) throws(StoreError) -> Row? { try store.rows.row(for: id, connection) }

  func rows(for ids: [ManagedObjectID]) throws(StoreError) -> [Row?] { try store.rows.rows(for: ids, connection) }

  func fetch(_ query: StoreQuery, _ body: (ManagedObjectID, Row?) throws -> Bool) throws {
    throw StoreError(.unsupported, "fetches by conditions are not answered yet", path: store.path)
  }

  func count(_ query: StoreQuery) throws -> Int {
    throw StoreError(.unsupported, "counts are not answered yet", path: store.path)
  }
}
