import Foundation
import ObjectModel
import PostgresTesting
import StoreInterface
import Testing

@testable import PostgresStore

/// A database with a store in it, and what makes rows for it.
final class PostgresFixture {
  static let ordinal: UInt32 = 3
  let database: TestDatabase
  let model: ManagedObjectModel
  let options: PostgresStoreOptions
  let store: PostgresStore

  init(_ model: ManagedObjectModel? = nil, options: PostgresStoreOptions = PostgresStoreOptions()) throws {
    database = try PostgresCluster.makeDatabase()
    self.options = options
    self.model = try model ?? Self.model()
    store = try PostgresStore(
      database.url, model: self.model, coordinatorOrdinal: Self.ordinal, options: options)
  }

  deinit { try? store.close() }

  /// Another host's store on the same schema.
  func another(_ model: ManagedObjectModel? = nil, options: PostgresStoreOptions? = nil) throws -> PostgresStore {
    try PostgresStore(
      database.url, model: model ?? self.model, coordinatorOrdinal: Self.ordinal, options: options ?? self.options)
  }

  /// - Parameter change: changes the attributes of the entity Person.
  static func model(_ change: (inout [AttributeDescription]) -> Void = { _ in }) throws -> ManagedObjectModel {
    var photo = AttributeDescription("photo", .binary)
    photo.allowsExternalBinaryDataStorage = true
    var attributes = [
      AttributeDescription("name", .string), AttributeDescription("email", .string),
      AttributeDescription("age", .integer64), photo,
    ]
    change(&attributes)
    var person = EntityDescription("Person", attributes: attributes)
    person.uniquenessConstraints = [["email"]]
    return try ManagedObjectModel([person])
  }

  var person: Entity { get throws { try #require(model.entitiesByName["Person"]) } }

  func slot(_ name: String) throws -> Int { try #require(try person.property(named: name)).slot }

  func change(
    _ kind: RowChange.Kind, _ id: ManagedObjectID, _ values: [String: Any], base: Row? = nil
  ) throws -> RowChange {
    var row = try base ?? Row(RowLayout(person))
    for (name, value) in values {
      let slot = try slot(name)
      switch value {
      case let text as String: row.setText(text, slot)
      case let number as Int: row.setInteger(Int64(number), slot)
      case let data as Data: row.setBlob(Blob(data), slot)
      default: Issue.record("no such value in a row: \(value)")
      }
    }
    return RowChange(kind, id, row: row, base: base)
  }

  func newID() throws -> ManagedObjectID {
    let key = try store.reserveKeys(KeyReservation(root: person, count: 1)).lowerBound
    return ManagedObjectID(key: key, entity: try person, coordinatorOrdinal: Self.ordinal)
  }

  @discardableResult
  func insert(_ values: [String: Any]) throws -> (id: ManagedObjectID, row: Row) {
    let id = try newID()
    let insert = try change(.insert, id, values)
    #expect(try save(insert).conflicts.isEmpty)
    return (id, try #require(insert.row))
  }

  func save(_ changes: RowChange...) throws -> StoreSaveResult {
    try store.save(StoreSaveRequest([ChangeSet(changes)]))
  }

  func stored(_ id: ManagedObjectID) throws -> Row? { try store.read { try $0.row(for: id)?.row } }
}
