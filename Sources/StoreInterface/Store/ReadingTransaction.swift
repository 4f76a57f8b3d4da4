package import ObjectModel

/// A transaction of a store that reads as a reader of its own does, which sees what it has written.
package protocol ReadingTransaction: StoreTransaction {
  associatedtype Reader: StoreReader

  var reader: Reader { get }
}

extension ReadingTransaction {
  @inlinable
  package func row(for id: ManagedObjectID) throws(StoreError) -> StoredRow? { try reader.row(for: id) }

  @inlinable
  package func rows(for ids: [ManagedObjectID]) throws(StoreError) -> [StoredRow?] { try reader.rows(for: ids) }

  @inlinable
  package func find(_ batch: RowBatch, key: [Property]) throws(StoreError) -> [ManagedObjectID?] {
    try reader.find(batch, key: key)
  }

  @inlinable
  package func links(of id: ManagedObjectID, _ property: Property, limit: Int?) throws(StoreError) -> [Link] {
    try reader.links(of: id, property, limit: limit)
  }

  @inlinable
  package func fetch(_ query: StoreQuery, _ body: (ManagedObjectID, StoredRow?) throws -> Bool) throws {
    try reader.fetch(query, body)
  }

  @inlinable
  package func count(_ query: StoreQuery) throws -> Int { try reader.count(query) }
}
