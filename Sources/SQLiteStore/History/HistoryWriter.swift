internal import Foundation
internal import Glibc
import ObjectModel
import StoreInterface

/// Writes what a transaction does to objects into the store's history, if the store keeps one.
///
/// Objects whose keys follow each other and to which the same was done share a row, so a batch of any size takes few.
struct HistoryWriter {
  /// What is written of one object, or of several.
  private struct Entry: Equatable {
    let entity: String
    let kind: PersistentHistoryChange.Kind
    let properties: String?
    let tombstone: String?
  }

  private let connection: Connection
  private let origin: TransactionOrigin
  /// Which open store this is.
  private let writer: String
  /// Whether the store keeps a history; nil until that was asked.
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

  /// Whether there is anything to be noted; asks the store once in a transaction.
  mutating func isActive() throws(StoreError) -> Bool {
    if let isKept { return isKept }
    let isKept = try HistorySchema(connection: connection).isPresent
    self.isKept = isKept
    return isKept
  }

  mutating func note(
    _ kind: PersistentHistoryChange.Kind, _ entity: Entity, _ keys: ClosedRange<Int64>,
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
