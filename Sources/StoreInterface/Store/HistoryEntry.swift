import Foundation
package import ObjectModel

/// One row of a store's history: the same was done to one object, or to several whose keys follow each other.
package struct HistoryEntry: Equatable, Sendable {
  /// The name of the entity.
  package let entity: String
  package let kind: PersistentHistoryChange.Kind
  package private(set) var keys: ClosedRange<Int64>
  /// The names of the properties that an update changed, in order and with commas between them; nil for none.
  package let properties: String?
  /// The values kept of a deleted object, as JSON; nil for none.
  package let tombstone: String?

  private init(
    _ kind: PersistentHistoryChange.Kind, _ entity: Entity, keys: ClosedRange<Int64>, properties: Set<String> = [],
    tombstone: [String: String] = [:]
  ) {
    self.entity = entity.name
    self.kind = kind
    self.keys = keys
    self.properties = properties.isEmpty ? nil : properties.sorted().joined(separator: ",")
    self.tombstone = tombstone.isEmpty ? nil : Self.json(tombstone)
  }

  /// An entry as a store has it in its columns; nil if it is of a kind that this release does not know.
  package init?(
    entity: String, kind: String, first: Int64, last: Int64, properties: String?, tombstone: String?
  ) {
    guard let kind = PersistentHistoryChange.Kind(rawValue: kind) else { return nil }
    self.entity = entity
    self.kind = kind
    keys = first...max(first, last)
    self.properties = properties
    self.tombstone = tombstone
  }

  private static func json(_ values: [String: String]) -> String? {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Texts by texts can always be encoded.
    return (try? encoder.encode(values)).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Covers the objects of the next entry as well, if the same was done to them and their keys follow; returns true if so.
  package mutating func extend(by next: HistoryEntry) -> Bool {
    guard tombstone == nil, next.tombstone == nil, entity == next.entity, kind == next.kind,
      properties == next.properties, keys.upperBound < .max, keys.upperBound + 1 == next.keys.lowerBound
    else { return false }
    keys = keys.lowerBound...next.keys.upperBound
    return true
  }
}

extension HistoryEntry {
  /// The changes that it tells of, one for each object; none if the model does not have the entity.
  package func changes(in model: ManagedObjectModel, coordinatorOrdinal: UInt32) -> [PersistentHistoryChange] {
    guard let entity = model.entitiesByName[entity] else { return [] }
    let properties = Set(properties?.split(separator: ",").map(String.init) ?? [])
    let tombstone = tombstone.map { Self.values($0, of: entity) } ?? [:]
    return keys.map { key in
      let id = ManagedObjectID(key: key, entity: entity, coordinatorOrdinal: coordinatorOrdinal)
      return PersistentHistoryChange(kind, id, updatedProperties: properties, tombstone: tombstone)
    }
  }

  private static func values(_ json: String, of entity: Entity) -> [String: Value] {
    // Only a foreign client can have written anything else; nothing is kept of it then.
    guard let texts = try? JSONDecoder().decode([String: String].self, from: Data(json.utf8)) else { return [:] }
    var values: [String: Value] = [:]
    for (name, text) in texts {
      guard let type = entity.property(named: name)?.attribute?.type else { continue }
      values[name] = Value(text, as: type)
    }
    return values
  }

  /// Calls the body with an entry for each change of some sets that a store has written, in their order.
  package static func forEach(
    of sets: [ChangeSet], in model: ManagedObjectModel, _ body: (HistoryEntry) throws(StoreError) -> Void
  ) throws(StoreError) {
    var linked = LinkedProperties(sets, model)
    for set in sets {
      for change in set.changes {
        if let entry = HistoryEntry(change, links: linked.remove(change.id), in: model) { try body(entry) }
      }
      for batch in set.batches where batch.count > 0 {
        try body(HistoryEntry(.insert, batch.entity, keys: batch.firstKey...batch.firstKey + Int64(batch.count) - 1))
      }
    }
    for (id, properties) in linked.rest where !sets.contains(where: { $0.change(of: id) != nil }) {
      try body(HistoryEntry(.update, of: id, properties: properties, in: model))
    }
  }

  /// Calls the body with the entries for what packed rows did.
  package static func forEach(
    of result: PackedResult, _ batch: RowBatch, in model: ManagedObjectModel,
    _ body: (HistoryEntry) throws(StoreError) -> Void
  ) throws(StoreError) {
    let inserted = result.insertedKeys
    if !inserted.isEmpty {
      try body(HistoryEntry(.insert, batch.entity, keys: inserted.lowerBound...(inserted.upperBound - 1)))
    }
    let properties = batch.columns.map { batch.entity.properties[$0.slot] }
    let names = Set(properties.lazy.filter { $0.isPersistent && !$0.isHidden }.map(\.name))
    for id in result.updates { try body(HistoryEntry(.update, of: id, properties: names, in: model)) }
  }

  private init(
    _ kind: PersistentHistoryChange.Kind, of id: ManagedObjectID, properties: Set<String>, in model: ManagedObjectModel
  ) {
    self.init(kind, model.entities[Int(id.entityIndex)], keys: id.key...id.key, properties: properties)
  }

  /// - Parameter links: the many-to-many relationships of the object that change as well.
  private init?(_ change: RowChange, links: Set<String>, in model: ManagedObjectModel) {
    let index = change.row?.entityIndex ?? change.base?.entityIndex ?? change.id.entityIndex
    let entity = model.entities[Int(index)]
    let key = change.id.key...change.id.key
    switch change.kind {
    case .insert: self.init(.insert, entity, keys: key)
    case .update:
      self.init(.update, entity, keys: key, properties: links.union(Self.changedProperties(change, entity)))
    case .delete: self.init(.delete, entity, keys: key, tombstone: Self.tombstone(change, entity))
    case .forget: return nil
    }
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

  /// Returns the values kept of a deleted object; large values that can't be read are left out.
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
