internal import Foundation
import ObjectModel
import StoreInterface

/// What a store tells of the model it was written with.
struct StoredModel {
  static let definitionKey = "definition"

  /// Version hashes by the entity's name.
  private(set) var hashes: [String: String] = [:]
  /// A line per property by the entity's name, for messages.
  private(set) var properties: [String: String] = [:]
  /// The name of each entity's root.
  private(set) var roots: [String: String] = [:]
  /// The model as XML; nil in stores of the first releases.
  let definition: String?

  init(_ connection: Connection) throws(StoreError) {
    definition = try connection.controlResult(
      "SELECT value FROM _metadata WHERE key = '\(Self.definitionKey)'"
    ) { $0.text(0) }
    var rows: [[String]] = []
    try connection.runControl("SELECT name, root, hash, properties FROM _entity") { statement in
      rows.append((0..<4).map { statement.text($0) })
      return true
    }
    for row in rows {
      roots[row[0]] = row[1]
      hashes[row[0]] = row[2]
      properties[row[0]] = row[3]
    }
  }

  /// Whether all entities of the model are there as they are, and no others but families that were kept.
  func fits(_ model: ManagedObjectModel) -> Bool {
    guard model.entities.allSatisfy({ hashes[$0.name] == $0.versionHash.description }) else { return false }
    let families = Set(model.entities.map(\.root.name))
    let others = hashes.keys.filter { model.entitiesByName[$0] == nil }
    if others.contains(where: { roots[$0].map(families.contains) ?? true }) { return false }
    guard let definition else { return true }
    // Families that the store's own model does not have were kept on purpose.
    func isDefined(_ name: String) -> Bool { definition.contains("<entity name=\"\(name)\"") }
    return model.entities.allSatisfy { isDefined($0.name) } && !others.contains(where: isDefined)
  }

  /// The entities that both have and that differ.
  func changedEntities(in model: ManagedObjectModel) -> [Entity] {
    model.entities.filter { hashes[$0.name] != nil && hashes[$0.name] != $0.versionHash.description }
  }

  /// The model that the store was written with, or nil if it does not tell.
  func model(path: String) throws(StoreError) -> ManagedObjectModel? {
    guard let definition else { return nil }
    do { return try ManagedObjectModel(xml: Data(definition.utf8), file: path) } catch {
      throw StoreError(.corrupt, "the model that the store keeps can't be read: \(error)", path: path)
    }
  }
}
