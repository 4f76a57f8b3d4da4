/// An entity of a resolved model: its properties in slot order, its family and its relationships' ends.
///
/// Immutable once the model's initializer has returned. The model owns its entities and must outlive their use.
public final class Entity: @unchecked Sendable {
  // @unchecked: everything is written before the model's initializer returns and only read afterwards.

  /// The name, unique in the model.
  public let name: String
  /// The model's description of this entity alone.
  public let entityDescription: EntityDescription
  /// The entity's place in its model.
  public let index: Int
  /// All properties, inherited ones first, each at the index of its slot.
  public let properties: [Property]
  /// The properties by name.
  public let propertiesByName: [String: Property]
  /// The entity that it inherits from; nil for a root.
  public unowned(unsafe) let parent: Entity?
  /// The entities that inherit from it directly.
  public internal(set) var children: [Entity] = []
  /// The topmost entity of the family; its name is the name of the table that all of them share.
  public var root: Entity { ancestor ?? self }
  private unowned(unsafe) let ancestor: Entity?
  /// The root's place in the model.
  public let rootIndex: Int
  /// The class of its objects, or nil for plain managed objects.
  public let objectClass: AnyClass?
  /// A hash over everything that shapes stored data; equal hashes need no migration.
  public internal(set) var versionHash = VersionHash()

  init(_ description: EntityDescription, index: Int, properties: [Property], parent: Entity?, objectClass: AnyClass?) {
    name = description.name
    entityDescription = description
    self.index = index
    self.properties = properties
    self.parent = parent
    self.objectClass = objectClass
    propertiesByName = Dictionary(uniqueKeysWithValues: properties.map { ($0.name, $0) })
    ancestor = parent?.root
    rootIndex = parent?.rootIndex ?? index
  }

  /// True if only entities that inherit from it have objects.
  public var isAbstract: Bool { entityDescription.isAbstract }

  /// True if other entities share its table, so that rows must name their entity.
  public var isInHierarchy: Bool { root.children.isEmpty == false }

  /// This entity and all that inherit from it.
  public var withDescendants: [Entity] { [self] + children.flatMap(\.withDescendants) }

  /// True if this is the given entity or inherits from it.
  public func isKind(of other: Entity) -> Bool {
    self === other || (parent?.isKind(of: other) ?? false)
  }

  /// The fetched property of that name, its own or an inherited one; nil if there is none.
  public func fetchedProperty(named name: String) -> EntityDescription.FetchedProperty? {
    entityDescription.fetchedProperties.first { $0.name == name } ?? parent?.fetchedProperty(named: name)
  }

  /// The property of that name, or nil.
  public func property(named name: String) -> Property? { propertiesByName[name] }
}

/// A property of an entity in a resolved model, with its slot in the entity's rows.
public final class Property: @unchecked Sendable {
  // @unchecked: everything is written before the model's initializer returns and only read afterwards.

  /// The kind of a property.
  public enum Kind: Sendable {
    /// It holds a value.
    case attribute(AttributeDescription)
    /// It leads to other objects.
    case relationship(RelationshipDescription)
  }

  /// The name, unique in its entity.
  public let name: String
  /// Attribute or relationship, with what the model says of it.
  public let kind: Kind
  /// The property's place among all properties of its entity, inherited ones first.
  public let slot: Int
  /// The storage of the value in a row.
  public let storage: StorageClass
  /// The destination of a relationship.
  public internal(set) unowned(unsafe) var destination: Entity?
  /// The inverse of a relationship, a property of the destination.
  public internal(set) unowned(unsafe) var inverse: Property?
  /// The table of a many-to-many relationship's links; nil for other properties.
  public internal(set) unowned(unsafe) var joinTable: JoinTable?
  /// True if a many-to-many relationship leads from the left side of its join table to the right one.
  public internal(set) var isLeftEnd = false
  /// For a to-one relationship whose inverse is ordered: the hidden property with the place in that order.
  public internal(set) unowned(unsafe) var orderProperty: Property?
  /// The computation of a derived attribute; nil for other properties.
  public internal(set) var derivation: Derivation?
  /// The name of the entity that declares the property: the entity itself or one it inherits from.
  public let declaringEntity: String
  /// True if the library uses it for itself and hides it from users.
  public let isHidden: Bool
  /// The column of a stored property in its family's table; the name, unless another property has taken that.
  package internal(set) var columnName: String
  /// The column in a store whose columns have types, so that siblings of one name and several types can't share one.
  package internal(set) var typedColumnName: String
  /// The column with the entity of a to-one relationship's destination; nil if only one is possible.
  package internal(set) var entityColumnName: String?

  init(_ kind: Kind, slot: Int, declaringEntity: String, isHidden: Bool = false) {
    self.kind = kind
    self.isHidden = isHidden
    self.slot = slot
    self.declaringEntity = declaringEntity
    switch kind {
    case .attribute(let attribute):
      name = attribute.name
      storage = attribute.type.storage
    case .relationship(let relationship):
      name = relationship.name
      storage = relationship.isToMany ? .toMany : .reference
    }
    columnName = name
    typedColumnName = name
  }

  /// The attribute's description, or nil for a relationship.
  public var attribute: AttributeDescription? {
    if case .attribute(let attribute) = kind { attribute } else { nil }
  }

  /// The relationship's description, or nil for an attribute.
  public var relationship: RelationshipDescription? {
    if case .relationship(let relationship) = kind { relationship } else { nil }
  }

  /// True if the property has a column in a store.
  public var isPersistent: Bool {
    !isTransient && relationship?.isToMany != true
  }

  /// True if its values live in memory only.
  public var isTransient: Bool {
    switch kind {
    case .attribute(let attribute): attribute.isTransient
    case .relationship(let relationship): relationship.isTransient
    }
  }

  /// True if the destinations of a to-many relationship have an order.
  public var isOrdered: Bool { relationship.map { $0.isToMany && $0.isOrdered } ?? false }

  /// True if nil is a valid value at a save.
  public var isOptional: Bool {
    switch kind {
    case .attribute(let attribute): attribute.isOptional
    case .relationship(let relationship): relationship.isOptional
    }
  }
}

/// The table of a many-to-many relationship's links, one row per pair of objects.
///
/// A to-many relationship without an inverse has one too, and one that is its own inverse keeps each link in both
/// directions. Immutable once the model's initializer has returned; the model owns it.
public final class JoinTable: @unchecked Sendable {
  // @unchecked: everything is written before the model's initializer returns and only read afterwards.

  /// The table's place in its model.
  public let index: Int
  /// The table's name in a store: `Keeper_skills`, with a number if another table has that name in either case.
  public internal(set) var name: String
  /// The entity whose relationship leads to the right side.
  public unowned(unsafe) let left: Entity
  /// The root entity of the other side.
  public unowned(unsafe) let right: Entity
  /// The relationship from left to right, whose name is also that of the column with the right object's key.
  public let relationship: String
  /// The relationship from right to left, or nil if there is none; equal to the other one if it is its own inverse.
  public let inverse: String?
  /// True if the objects on the right have an order for each on the left.
  public let isOrdered: Bool
  /// True if the objects on the left have an order for each on the right.
  public let isInverseOrdered: Bool

  init(index: Int, left: Entity, property: Property, right: Entity) {
    self.index = index
    self.left = left
    self.right = right
    name = "\(left.name)_\(property.name)"
    relationship = property.name
    inverse = property.inverse?.name
    isOrdered = property.relationship?.isOrdered == true
    isInverseOrdered = property.inverse?.relationship?.isOrdered == true
  }

  /// True if each link has a twin in the other direction, because the relationship is its own inverse.
  public var isSymmetric: Bool { inverse == relationship && left.root === right.root }

  /// The column with the left object's key: the inverse's name, or `_owner` where that is taken or missing.
  public var leftColumn: String {
    if let inverse, inverse.lowercased() != relationship.lowercased() { return inverse }
    return relationship.lowercased() == "_owner" ? "_owner_2" : "_owner"
  }

  /// The column with the right object's key.
  public var rightColumn: String { relationship }
}

/// Assigns names in a database, such as those of the columns of the table that a family shares.
///
/// A column has its property's name, so siblings with a property of one name share its column. SQL ignores case in
/// names: where two differ in case only, or the store itself needs one, the first in the order of code points keeps it
/// and the others get a number (`iconURL`, `iconUrl_2`). The order of the model has no influence.
package struct ColumnNames {
  private var taken: Set<String>

  /// - Parameter reserved: Names that the store has taken.
  package init(reserved: some Sequence<String>) { taken = Set(reserved.map(\.asciiLowercased)) }

  /// Names the columns of all stored properties of a family.
  static func assign(family: [Entity]) {
    var columns = ColumnNames(reserved: ["_key", "_version", "_entity"])
    let stored = family.flatMap(\.properties).filter(\.isPersistent)
    // The library's own columns are named first, so that no property of the model can rename them.
    for isHidden in [true, false] {
      let properties = stored.filter { $0.isHidden == isHidden }
      let names = columns.assignNames(Set(properties.map(\.name)))
      for property in properties {
        property.columnName = names[property.name] ?? property.name
        property.typedColumnName = property.columnName
      }
    }
    let references = stored.filter { $0.destination?.isInHierarchy == true }
    let names = columns.assignNames(Set(references.map { $0.name + "_entity" }))
    for property in references { property.entityColumnName = names[property.name + "_entity"] }
    columns.separateTypes(stored)
  }

  /// Puts the type behind the names of columns in which siblings would keep values of several types.
  private mutating func separateTypes(_ properties: [Property]) {
    let sharers = Dictionary(grouping: properties, by: \.columnName)
    for (name, properties) in sharers.sorted(by: { $0.key < $1.key }) {
      let types = Dictionary(grouping: properties, by: \.storage.typeName)
      if types.count == 1 { continue }
      for (type, properties) in types.sorted(by: { $0.key < $1.key }) {
        let typed = "\(name)_\(type)"
        let column = reserve(typed) ? typed : reserveNumbered(typed)
        for property in properties { property.typedColumnName = column }
      }
    }
  }

  /// Assigns each name itself or, where that is taken, itself with the first number that makes it unique.
  package mutating func assignNames(_ names: Set<String>) -> [String: String] {
    var given: [String: String] = [:]
    let sorted = names.sorted()
    for name in sorted where reserve(name) { given[name] = name }
    for name in sorted where given[name] == nil { given[name] = reserveNumbered(name) }
    return given
  }

  /// Reserves a name; false if it is taken.
  mutating func reserve(_ name: String) -> Bool { taken.insert(name.asciiLowercased).inserted }

  /// Reserves a name with the first number that makes it unique.
  mutating func reserveNumbered(_ name: String) -> String {
    var number = 2
    while !reserve("\(name)_\(number)") { number += 1 }
    return "\(name)_\(number)"
  }
}

extension StorageClass {
  /// The type of a column that keeps values of this class and others like them.
  fileprivate var typeName: String {
    switch self {
    case .integer, .reference: "number"
    case .real: "real"
    case .text: "text"
    case .bytes, .blob, .toMany: "bytes"
    }
  }
}

extension Entity {
  /// The columns of stored properties of this entity, by their names.
  package func columnNames(of properties: some Sequence<String>) -> [String] {
    properties.map { property(named: $0)?.columnName ?? $0 }
  }
}

extension String {
  /// The text in the form in which SQL compares names.
  package var asciiLowercased: String {
    String(decoding: utf8.map { $0 >= 0x41 && $0 <= 0x5a ? $0 | 0x20 : $0 }, as: UTF8.self)
  }
}
