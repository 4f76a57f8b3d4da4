import ObjectModel

/// Reads the state that an in-memory store had when the reader was made.
struct InMemoryReader: StoreReader {
  let tables: [InMemoryState.Table]
  let model: ManagedObjectModel

  func row(for id: ManagedObjectID) throws(StoreError) -> Row? { tables[Int(id.rootIndex)][id.key] }

  func rows(for ids: [ManagedObjectID]) throws(StoreError) -> [Row?] {
    ids.map { tables[Int($0.rootIndex)][$0.key] }
  }

  func fetch(_ query: StoreQuery, _ body: (ManagedObjectID, Row?) throws -> Bool) throws {
    throw StoreError(.unsupported, "fetches by conditions are not answered yet")
  }

  func count(_ query: StoreQuery) throws -> Int {
    throw StoreError(.unsupported, "counts are not answered yet")
  }
}
