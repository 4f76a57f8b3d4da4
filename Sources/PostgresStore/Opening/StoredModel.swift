import Foundation
import ObjectModel
import StoreInterface

/// The model that a store was written with, as the store tells it.
struct StoredModel {
  static let definitionKey = "definition"

  /// Version hashes by the entity's name.
  private let hashes: [String: String]
  /// The model as XML.
  private let definition: String?

  init(_ connection: Connection) throws(StoreError) {
    var hashes: [String: String] = [:]
    let entities = try connection.query("SELECT name, hash FROM _entity")
    for row in 0..<entities.rowCount { hashes[entities.text(row, 0)] = entities.text(row, 1) }
    self.hashes = hashes
    let definition = try connection.query("SELECT value FROM _metadata WHERE key = $1", [.text(Self.definitionKey)])
    self.definition = definition.rowCount == 0 ? nil : definition.text(0, 0)
  }

  /// True if the store has the entities of the model as they are, and no others.
  func fits(_ model: ManagedObjectModel) -> Bool {
    hashes.count == model.entities.count
      && model.entities.allSatisfy { hashes[$0.name] == $0.versionHash.description }
  }

  func model(place: String) throws(StoreError) -> ManagedObjectModel {
    guard let definition else {
      throw StoreError(.corrupt, "the store does not tell its model; restore it from a backup", path: place)
    }
    do { return try ManagedObjectModel(xml: Data(definition.utf8), file: place) } catch {
      throw StoreError(.corrupt, "the model that the store keeps can't be read: \(error)", path: place)
    }
  }
}

/// The steps from one model to another that need no row to be rewritten, so that others may go on working meanwhile.
struct AdditiveMigration {
  /// The columns that are new in tables that are there, with the values that their rows get.
  private(set) var defaults: [(table: String, column: String, entity: Entity, value: Value, type: AttributeType)] = []

  /// - Throws: ``StoreError/Code/incompatibleModel`` that names the first difference that is more than an addition.
  init(from old: ManagedObjectModel, to new: ManagedObjectModel, place: String) throws(StoreError) {
    func refuse(_ what: String) -> StoreError {
      StoreError(
        .incompatibleModel,
        "the store was made with another model: \(what); a store on PostgreSQL takes additions only as yet: copy it to "
          + "SQLite to migrate it", path: place)
    }
    for entity in old.entities {
      guard let same = new.entitiesByName[entity.name] else { throw refuse("the entity \(entity.name) is missing now") }
      guard same.root.name == entity.root.name, same.parent?.name == entity.parent?.name else {
        throw refuse("the entity \(entity.name) inherits from another one now")
      }
      for property in entity.properties where property.isPersistent {
        guard let next = same.property(named: property.name), next.isPersistent else {
          throw refuse("\(entity.name).\(property.name) is missing now")
        }
        guard Self.isAlike(property, next) else {
          throw refuse("\(entity.name).\(property.name) is of another type now")
        }
        if property.isOptional && !next.isOptional {
          throw refuse("\(entity.name).\(property.name) must have a value now")
        }
      }
      for property in same.properties where property.isPersistent && entity.property(named: property.name) == nil {
        guard let attribute = property.attribute else { continue }
        if attribute.defaultValue.isNull {
          if !attribute.isOptional { throw refuse("\(entity.name).\(property.name) is new, and has no default") }
        } else {
          defaults.append((same.root.name, property.name, same, attribute.defaultValue, attribute.type))
        }
      }
    }
    for entity in new.entities where old.entitiesByName[entity.name] == nil {
      // The rows of a table with one entity do not tell theirs.
      if let root = old.entitiesByName[entity.root.name], !root.isInHierarchy {
        throw refuse("the entity \(entity.name) inherits from \(root.name), which had no others")
      }
    }
  }

  private static func isAlike(_ old: Property, _ new: Property) -> Bool {
    old.storage == new.storage && old.attribute?.type == new.attribute?.type
      && old.typedColumnName == new.typedColumnName && old.entityColumnName == new.entityColumnName
      && old.destination?.name == new.destination?.name && old.joinTable?.name == new.joinTable?.name
      && old.attribute?.allowsExternalBinaryDataStorage == new.attribute?.allowsExternalBinaryDataStorage
      && (old.derivationText == new.derivationText)
  }
}

extension Property {
  /// True if an object may be without a value.
  fileprivate var isOptional: Bool {
    switch kind {
    case .attribute(let attribute): attribute.isOptional
    case .relationship(let relationship): relationship.isOptional
    }
  }

  /// The computation of a derived attribute as a text; nil for others.
  fileprivate var derivationText: String? { derivation.map { "\($0)" } }
}
