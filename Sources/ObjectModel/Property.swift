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
  /// The column that tells the entity of a to-one relationship's destination; nil if there is only one possible.
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
    switch kind {
    case .attribute(let attribute): !attribute.isTransient
    case .relationship(let relationship): !relationship.isToMany && !relationship.isTransient
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
