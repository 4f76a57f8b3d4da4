import Foundation
import Glibc
import ObjectModel
import StoreInterface

/// Writes what a transaction does to objects into the store's history, if the store keeps one.
///
/// Objects whose keys follow each other and to which the same was done share a row, so a batch of any size takes few.
struct HistoryWriter {
  /// The entry of one object, or of several.
  private struct Entry: Equatable {
    let entity: String
    let kind: PersistentHistoryChange.Kind
    let properties: String?
    let tombstone: String?
  }

  private let connection: Connection
  private let origin: TransactionOrigin
  /// The identifier of this open store.
  private let writer: String
  /// True if the store keeps a history; nil until that was asked.
  private var isKept: Bool?
  private var number: Int64?
  private var place: Int64 = 0
  private var entry: Entry?
  private var keys: ClosedRange<Int64> = 0...0

  init(_ connection: Connection, from origin: TransactionOrigin, writer: String) {
    self.connection = connection
    self.origin = origin
    self.writer = writer
  }

  /// True if there is anything to be noted; asks the store once in a transaction.
  mutating func isActive() throws(StoreError) -> Bool {
    if let isKept { return isKept }
    let isKept = try HistorySchema(connection: connection).isPresent
    self.isKept = isKept
    return isKept
  }

  mutating func note(
    _ kind: PersistentHistoryChange.Kind, _ entity: Entity, keys: ClosedRange<Int64>,
    properties: Set<String> = [], tombstone: [String: String] = [:]
  ) throws(StoreError) {
    let entry = Entry(
      entity: entity.name, kind: kind,
      properties: properties.isEmpty ? nil : properties.sorted().joined(separator: ","),
      tombstone: tombstone.isEmpty ? nil : Self.json(tombstone))
    if entry == self.entry, entry.tombstone == nil, self.keys.upperBound < .max,
      self.keys.upperBound + 1 == keys.lowerBound
    {
      self.keys = self.keys.lowerBound...keys.upperBound
      return
    }
    try flush()
    self.entry = entry
    self.keys = keys
  }

  /// Writes what was noted last; to be called before the commit.
  mutating func flush() throws(StoreError) {
    guard let entry else { return }
    self.entry = nil
    let number = try transactionNumber()
    place += 1
    let (place, keys) = (place, keys)
    try connection.control("INSERT INTO _change VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)") { statement in
      statement.bind(number, 1)
      statement.bind(place, 2)
      statement.bindCopy(entry.entity, 3)
      statement.bindCopy(entry.kind.rawValue, 4)
      statement.bind(keys.lowerBound, 5)
      statement.bind(keys.upperBound, 6)
      statement.bindCopy(entry.properties, 7)
      statement.bindCopy(entry.tombstone, 8)
    }
  }

  private mutating func transactionNumber() throws(StoreError) -> Int64 {
    if let number { return number }
    try connection.control(
      "INSERT INTO _transaction (time, author, context, process, writer) VALUES (?1, ?2, ?3, ?4, ?5)"
    ) { statement in
      statement.bind(Date().timeIntervalSinceReferenceDate, 1)
      statement.bindCopy(origin.author, 2)
      statement.bindCopy(origin.contextName, 3)
      statement.bindCopy("\(ProcessInfo.processInfo.processName)[\(getpid())]", 4)
      statement.bindCopy(writer, 5)
    }
    let made = connection.lastInsertedKey
    number = made
    return made
  }

  private static func json(_ values: [String: String]) -> String? {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Texts by texts can always be encoded.
    return (try? encoder.encode(values)).map { String(decoding: $0, as: UTF8.self) }
  }
}

/// The tables of a store's history. Once a store has them, everybody who writes with this library writes there too.
struct HistorySchema {
  /// The key under which `_metadata` tells the version of these tables, if they are there.
  static let versionKey = "history"
  /// The key of the number of the newest transaction that was deleted.
  static let purgedKey = "historyPurged"

  let connection: Connection

  /// True if the store keeps a history.
  var isPresent: Bool {
    get throws(StoreError) {
      try connection.controlResult("SELECT 1 FROM _metadata WHERE key = '\(Self.versionKey)'") { _ in true } == true
    }
  }

  /// Makes the tables unless they are there.
  func create() throws(StoreError) {
    if try isPresent { return }
    try connection.transaction { () throws(StoreError) in
      try connection.control(
        "CREATE TABLE IF NOT EXISTS _transaction (number INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, "
          + "author TEXT, context TEXT, process TEXT NOT NULL, writer TEXT NOT NULL)")
      try connection.control(
        "CREATE TABLE IF NOT EXISTS _change (number INTEGER NOT NULL, place INTEGER NOT NULL, entity TEXT NOT NULL, "
          + "kind TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, properties TEXT, tombstone TEXT, "
          + "PRIMARY KEY (number, place)) WITHOUT ROWID")
      try connection.control("INSERT OR REPLACE INTO _metadata VALUES ('\(Self.versionKey)', '1')")
    }
  }
}

extension SaveTransaction {
  /// Notes what a set of changes does, for the history.
  mutating func noteHistory(_ sets: [ChangeSet]) throws(StoreError) {
    if sets.allSatisfy(\.isEmpty) { return }
    guard try history.isActive() else { return }
    var linked = LinkedProperties(sets, model)
    for set in sets {
      for change in set.changes {
        let properties = linked.remove(change.id)
        let entity = entity(of: change)
        let key = change.id.key...change.id.key
        switch change.kind {
        case .insert: try history.note(.insert, entity, keys: key)
        case .update:
          try history.note(
            .update, entity, keys: key, properties: properties.union(Self.changedProperties(change, entity)))
        case .delete: try history.note(.delete, entity, keys: key, tombstone: Self.tombstone(change, entity))
        case .forget: break
        }
      }
      for batch in set.batches where batch.count > 0 {
        try history.note(.insert, batch.entity, keys: batch.firstKey...batch.firstKey + Int64(batch.count) - 1)
      }
    }
    for (id, properties) in linked.rest where !sets.contains(where: { $0.change(of: id) != nil }) {
      try history.note(.update, model.entities[Int(id.entityIndex)], keys: id.key...id.key, properties: properties)
    }
  }

  private func entity(of change: RowChange) -> Entity {
    model.entities[Int(change.row?.entityIndex ?? change.base?.entityIndex ?? change.id.entityIndex)]
  }

  private static func changedProperties(_ change: RowChange, _ entity: Entity) -> Set<String> {
    guard let row = change.row, let base = change.base else { return [] }
    var names: Set<String> = []
    for property in entity.properties where property.isPersistent {
      if row.hasSameValue(as: base, property.slot, property.storage) { continue }
      if property.isHidden {
        // A place in an order is part of the relationship that has it.
        if let owner = entity.properties.first(where: { $0.orderProperty === property }) { names.insert(owner.name) }
      } else {
        names.insert(property.name)
      }
    }
    return names
  }

  /// Returns the values kept of a deleted object; values in files that can't be read are left out.
  private static func tombstone(_ change: RowChange, _ entity: Entity) -> [String: String] {
    guard let row = change.base else { return [:] }
    var values: [String: String] = [:]
    for property in entity.properties {
      guard let attribute = property.attribute, attribute.preservesValueInHistoryOnDeletion, property.isPersistent,
        let value = try? row.value(of: attribute, property.slot), let text = value.historyText
      else { continue }
      values[property.name] = text
    }
    return values
  }
}

/// The many-to-many relationships that a save changes, by the objects at their ends.
private struct LinkedProperties {
  private var properties: [ManagedObjectID: Set<String>] = [:]

  init(_ sets: [ChangeSet], _ model: ManagedObjectModel) {
    for change in sets.lazy.flatMap(\.links) {
      let table = model.joinTables[change.key.table]
      properties[change.key.left, default: []].insert(table.relationship)
      if let inverse = table.inverse { properties[change.key.right, default: []].insert(inverse) }
    }
  }

  mutating func remove(_ id: ManagedObjectID) -> Set<String> {
    if properties.isEmpty { return [] }
    return properties.removeValue(forKey: id) ?? []
  }

  /// Those that were not removed, in order.
  var rest: [(ManagedObjectID, Set<String>)] {
    properties.sorted { ($0.key.rootIndex, $0.key.key) < ($1.key.rootIndex, $1.key.key) }.map { ($0.key, $0.value) }
  }
}

extension Value {
  /// The value as a tombstone spells it, which ``Value/init(_:as:)`` reads; nil for no value.
  fileprivate var historyText: String? {
    switch self {
    case .null: nil
    case .integer(let number): "\(number)"
    case .double(let number): "\(number)"
    case .boolean(let truth): truth ? "YES" : "NO"
    case .string(let text): text
    case .decimal(let number): "\(number)"
    case .date(let date): "\(date.timeIntervalSinceReferenceDate)"
    case .data(let data): data.base64EncodedString()
    case .uuid(let uuid): uuid.uuidString
    case .url(let url): url.absoluteString
    }
  }
}
