internal import Foundation
import ObjectModel
import StoreInterface

extension SaveTransaction {
  /// Notes what a set of changes does, for the history.
  mutating func noteHistory(_ sets: [ChangeSet]) throws(StoreError) {
    if sets.allSatisfy(\.isEmpty) { return }
    guard try history.isActive() else { return }
    var linked = LinkedProperties(sets, model)
    for set in sets {
      for change in set.changes {
        let properties = linked.take(change.id)
        let entity = entity(of: change)
        let key = change.id.key...change.id.key
        switch change.kind {
        case .insert: try history.note(.insert, entity, key)
        case .update:
          try history.note(.update, entity, key, properties: properties.union(Self.changedProperties(change, entity)))
        case .delete: try history.note(.delete, entity, key, tombstone: Self.tombstone(change, entity))
        case .forget: break
        }
      }
      for batch in set.batches where batch.count > 0 {
        try history.note(.insert, batch.entity, batch.firstKey...batch.firstKey + Int64(batch.count) - 1)
      }
    }
    for (id, properties) in linked.rest where !sets.contains(where: { $0.change(of: id) != nil }) {
      try history.note(.update, model.entities[Int(id.entityIndex)], id.key...id.key, properties: properties)
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

  /// What is kept of a deleted object; values in files that can't be read are left out.
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

  mutating func take(_ id: ManagedObjectID) -> Set<String> {
    if properties.isEmpty { return [] }
    return properties.removeValue(forKey: id) ?? []
  }

  /// Those that were not taken, in order.
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
