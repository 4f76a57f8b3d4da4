import Foundation
package import ObjectModel
package import StoreInterface

/// The model that a store was written with, as far as the store tells it.
package struct StoredModel: Sendable {
  /// The key in `_metadata` of the model as XML.
  package static let definitionKey = "definition"

  /// An entity as the store tells it.
  package struct StoredEntity: Sendable {
    package let name: String
    package let root: String
    /// The version hash.
    package let hash: String
    /// A line per property, for messages; empty where the store does not tell them.
    package let properties: String

    package init(_ name: String, root: String, hash: String, properties: String = "") {
      self.name = name
      self.root = root
      self.hash = hash
      self.properties = properties
    }
  }

  private let entities: [String: StoredEntity]
  /// The model as XML; nil in stores of the first releases.
  package let definition: String?

  package init(_ entities: [StoredEntity], definition: String?) {
    self.entities = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0) })
    self.definition = definition
  }

  package func entity(_ name: String) -> StoredEntity? { entities[name] }

  package var names: Set<String> { Set(entities.keys) }

  /// True if all entities of the model are there as they are, and no others but families that were kept.
  package func fits(_ model: ManagedObjectModel) -> Bool {
    guard model.entities.allSatisfy({ entities[$0.name]?.hash == $0.versionHash.description }) else { return false }
    let families = Set(model.entities.map(\.root.name))
    let others = entities.values.filter { model.entitiesByName[$0.name] == nil }
    if others.contains(where: { families.contains($0.root) }) { return false }
    guard let definition else { return true }
    // Families that the store's own model does not have were kept on purpose.
    func isDefined(_ name: String) -> Bool { definition.contains("<entity name=\"\(name)\"") }
    return model.entities.allSatisfy { isDefined($0.name) } && !others.contains { isDefined($0.name) }
  }

  /// The entities that both have and that differ.
  package func changedEntities(in model: ManagedObjectModel) -> [Entity] {
    model.entities.filter { entity in entities[entity.name].map { $0.hash != entity.versionHash.description } ?? false }
  }

  /// The model that the store was written with, or nil if it does not tell.
  package func model(place: String) throws(StoreError) -> ManagedObjectModel? {
    guard let definition else { return nil }
    do { return try ManagedObjectModel(xml: Data(definition.utf8), file: place) } catch {
      throw StoreError(.corrupt, "the model that the store keeps can't be read: \(error)", path: place)
    }
  }
}
