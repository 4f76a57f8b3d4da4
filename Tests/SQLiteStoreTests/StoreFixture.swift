import Foundation
import ObjectGraph
import PostgresTesting
import Testing

/// The stores that share the conformance suite.
enum StoreKind: CaseIterable, Sendable {
  case sqlite, inMemory, postgres
  /// PostgreSQL through a pooler that gives each transaction another connection.
  case pooled

  /// The stores that can be had here.
  static let allCases: [StoreKind] =
    [.sqlite, .inMemory] + (PostgresCluster.isAvailable() ? [.postgres] : [])
    + (PostgresCluster.hasPooler() ? [.pooled] : [])

  var isPostgres: Bool { self == .postgres || self == .pooled }

  /// True if a text may hold U+0000.
  var keepsZeroInTexts: Bool { !isPostgres }
}

/// A fresh folder with a store in it, and what makes rows for it.
final class StoreFixture {
  static let ordinal: UInt32 = 7
  let kind: StoreKind
  let model: ManagedObjectModel
  let folder: URL
  var store: any PersistentStore
  /// The database of a store on PostgreSQL.
  private let database: TestDatabase?
  let options: SQLiteStoreOptions

  var url: URL { folder.appendingPathComponent("test.sqlite") }
  var filesFolder: URL { folder.appendingPathComponent("test_files") }

  init(
    _ kind: StoreKind = .sqlite, model: ManagedObjectModel? = nil, options: SQLiteStoreOptions = SQLiteStoreOptions()
  ) throws {
    self.kind = kind
    self.options = options
    self.model = try model ?? Self.model()
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("store-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    database = kind.isPostgres ? try PostgresCluster.makeDatabase() : nil
    let description: PersistentStoreDescription =
      switch kind {
      case .sqlite: .sqlite(at: folder.appendingPathComponent("test.sqlite"), options: options)
      case .inMemory: .inMemory
      case .postgres: .postgresql(url: try #require(database).url)
      case .pooled: .postgresql(url: try #require(database).pooledURL)
      }
    store = try description.open(self.model, Self.ordinal)
  }

  deinit {
    try? store.close()
    try? FileManager.default.removeItem(at: folder)
  }

  static func model() throws -> ManagedObjectModel {
    var photo = AttributeDescription("photo", .binary)
    photo.allowsExternalBinaryDataStorage = true
    var person = EntityDescription(
      "Person",
      attributes: [
        AttributeDescription("name", .string), AttributeDescription("email", .string),
        AttributeDescription("age", .integer64), AttributeDescription("score", .double),
        AttributeDescription("isMember", .boolean), AttributeDescription("born", .date),
        AttributeDescription("wealth", .decimal), AttributeDescription("identity", .uuid),
        AttributeDescription("page", .uri), AttributeDescription("icon", .binary), photo,
      ],
      relationships: [
        RelationshipDescription("employer", to: "Company", inverse: "employees"),
        RelationshipDescription("pet", to: "Animal"),
      ])
    person.uniquenessConstraints = [["email"]]
    person.fetchIndexes = [.init(name: "byAge", elements: [.init(property: "age", isAscending: false)])]
    var animal = EntityDescription("Animal", attributes: [AttributeDescription("name", .string)])
    animal.isAbstract = true
    return try ManagedObjectModel([
      person,
      EntityDescription(
        "Company", attributes: [AttributeDescription("name", .string)],
        relationships: [RelationshipDescription("employees", to: "Person", inverse: "employer", isToMany: true)]),
      animal,
      EntityDescription("Dog", parent: "Animal", attributes: [AttributeDescription("tricks", .integer32)]),
      EntityDescription("Cat", parent: "Animal", attributes: [AttributeDescription("lives", .integer32)]),
    ])
  }

  /// Another store on the same file.
  func reopened() throws -> any PersistentStore {
    try PersistentStoreDescription.sqlite(at: url, options: options).open(model, Self.ordinal)
  }

  func entity(_ name: String) throws -> Entity { try #require(model.entitiesByName[name]) }

  func slot(_ entity: String, _ property: String) throws -> Int {
    try #require(try self.entity(entity).property(named: property)).slot
  }

  func newID(_ name: String) throws -> ManagedObjectID {
    let entity = try entity(name)
    let keys = try store.reserveKeys(KeyReservation(root: entity.root, count: 1))
    return ManagedObjectID(key: keys.lowerBound, entity: entity, coordinatorOrdinal: Self.ordinal)
  }

  func row(_ name: String, _ values: [String: Any] = [:]) throws -> Row {
    var row = Row(RowLayout(try entity(name)))
    for (key, value) in values { try set(&row, name, key, value) }
    return row
  }

  func set(_ row: inout Row, _ name: String, _ key: String, _ value: Any) throws {
    let slot = try slot(name, key)
    switch value {
    case let value as String: row.setText(value, slot)
    case let value as Int: row.setInteger(Int64(value), slot)
    case let value as Int64: row.setInteger(value, slot)
    case let value as Double: row.setReal(value, slot)
    case let value as Bool: row.setInteger(value ? 1 : 0, slot)
    case let value as UUID: row.setUUID(value, slot)
    case let value as Data: row.setBlob(Blob(value), slot)
    case let value as Blob: row.setBlob(value, slot)
    case let value as ManagedObjectID: row.setReference(value, slot)
    default: Issue.record("no such value in a row: \(value)")
    }
  }

  /// Inserts a row and returns its ID and the row itself, stamped.
  @discardableResult
  func insert(_ name: String, _ values: [String: Any] = [:]) throws -> (id: ManagedObjectID, row: Row) {
    let id = try newID(name)
    let row = try row(name, values)
    let result = try store.save(StoreSaveRequest([ChangeSet([RowChange(.insert, id, row: row, base: nil)])]))
    #expect(result.conflicts.isEmpty)
    return (id, row)
  }

  /// A change of one value of a row.
  func update(
    _ id: ManagedObjectID, _ base: Row, _ name: String, _ values: [String: Any]
  ) throws -> RowChange {
    var row = base
    for (key, value) in values { try set(&row, name, key, value) }
    return RowChange(.update, id, row: row, base: base)
  }

  func save(_ changes: RowChange...) throws -> StoreSaveResult {
    try store.save(StoreSaveRequest([ChangeSet(changes)]))
  }

  func stored(_ id: ManagedObjectID) throws -> Row? { try store.read { try $0.row(for: id)?.row } }

  /// A batch of people with a name, a mail address each, an age and a score; every tenth has no age.
  func batch(_ count: Int) throws -> RowBatch {
    let entity = try entity("Person")
    let keys = try store.reserveKeys(KeyReservation(root: entity, count: count))
    let names = ByteArena(capacity: count * 12)
    let mails = ByteArena(capacity: count * 20)
    var nameOffsets: [UInt32] = [0]
    var mailOffsets: [UInt32] = [0]
    var nulls = [UInt64](repeating: 0, count: (count + 63) / 64)
    for index in 0..<count {
      Array("Näme \(index)".utf8).withUnsafeBytes { names.append($0) }
      Array("\(keys.lowerBound + Int64(index))@example.org".utf8).withUnsafeBytes { mails.append($0) }
      nameOffsets.append(UInt32(names.count))
      mailOffsets.append(UInt32(mails.count))
      if index % 10 == 9 { nulls[index >> 6] |= 1 << UInt64(index & 63) }
    }
    return RowBatch(
      entity: entity, layout: RowLayout(entity), coordinatorOrdinal: Self.ordinal, firstKey: keys.lowerBound,
      count: count,
      columns: [
        .init(slot: try slot("Person", "name"), values: .bytes(offsets: nameOffsets, arena: names)),
        .init(slot: try slot("Person", "email"), values: .bytes(offsets: mailOffsets, arena: mails)),
        .init(slot: try slot("Person", "age"), values: .integers((0..<count).map(Int64.init)), nullBits: nulls),
        .init(slot: try slot("Person", "score"), values: .reals((0..<count).map { Double($0) / 2 })),
      ])
  }
}
