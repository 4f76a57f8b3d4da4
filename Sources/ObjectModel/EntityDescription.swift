/// An entity as a model describes it, before the model resolves its names; see ``Entity``.
public struct EntityDescription: Sendable, Hashable {
  /// A named index over some properties, in order.
  public struct FetchIndex: Sendable, Hashable {
    /// A column of an index.
    public struct Element: Sendable, Hashable {
      /// The name of an attribute or to-one relationship.
      public var property: String
      /// True if the smallest value comes first.
      public var isAscending: Bool
      /// A column of an index.
      public init(property: String, isAscending: Bool = true) {
        self.property = property
        self.isAscending = isAscending
      }
    }
    /// The name, which is part of the index's name in the store.
    public var name: String
    /// The columns, the most important first.
    public var elements: [Element]
    /// An index of an entity.
    public init(name: String, elements: [Element]) {
      self.name = name
      self.elements = elements
    }
  }

  /// A property whose value is the result of a fetch, with a predicate in which `$FETCH_SOURCE` is the object.
  public struct FetchedProperty: Sendable, Hashable {
    /// The property's name.
    public var name: String
    /// The name of the entity that is fetched.
    public var entity: String
    /// The format string of the condition; nil for all objects.
    public var predicate: String?
    /// The model author's notes, by key.
    public var userInfo: [String: String] = [:]
    /// A fetched property.
    public init(name: String, entity: String, predicate: String? = nil) {
      self.name = name
      self.entity = entity
      self.predicate = predicate
    }
  }

  /// The entity's name, unique in its model.
  public var name: String
  /// The name of the class of its objects; nil for plain managed objects.
  public var className: String?
  /// True if only entities that inherit from it have objects.
  public var isAbstract = false
  /// The name of the entity it inherits from.
  public var parent: String?
  /// Its own attributes, without the inherited ones, in the order of their slots.
  public var attributes: [AttributeDescription]
  /// Its own relationships, without the inherited ones, in the order of their slots.
  public var relationships: [RelationshipDescription]
  /// The properties that are answered by a fetch.
  public var fetchedProperties: [FetchedProperty] = []
  /// Sets of attribute names whose values together are unique in the store.
  public var uniquenessConstraints: [[String]] = []
  /// The indexes, inherited ones not included; they are no part of the version hash.
  public var fetchIndexes: [FetchIndex] = []
  /// The name this entity had in an earlier version of the model.
  public var renamingIdentifier: String?
  /// Text that changes the version hash although nothing else differs.
  public var versionHashModifier: String?
  /// Free texts by key, no part of the version hash.
  public var userInfo: [String: String] = [:]

  /// Describes an entity; the further rules are set through its properties.
  public init(
    _ name: String, className: String? = nil, parent: String? = nil, attributes: [AttributeDescription] = [],
    relationships: [RelationshipDescription] = []
  ) {
    self.name = name
    self.className = className
    self.parent = parent
    self.attributes = attributes
    self.relationships = relationships
  }
}

/// An attribute as a model describes it: its type, default and rules.
public struct AttributeDescription: Sendable, Hashable {
  /// The attribute's name, unique among the properties of its entity.
  public var name: String
  /// The type of the values.
  public var type: AttributeType
  /// True if nil is a valid value at a save.
  public var isOptional: Bool
  /// The value of a new object, or nil.
  public var defaultValue: Value
  /// True if the value lives in memory only and is never stored.
  public var isTransient = false
  /// The smallest valid number or date, or the shortest text in characters.
  public var minimum: Value = .null
  /// The largest valid number or date, or the longest text in characters.
  public var maximum: Value = .null
  /// A regular expression that the whole of a text must match.
  public var pattern: String?
  /// True if large binary values are kept in a file beside the store.
  public var allowsExternalBinaryDataStorage = false
  /// True if the value is kept in the history's tombstone when the object is deleted.
  public var preservesValueInHistoryOnDeletion = false
  /// True if a generated class has a plain number or Boolean here even if the attribute is optional.
  public var usesScalarValue = false
  /// The expression a derived attribute is computed from at each save, as the model spells it.
  public var derivation: String?
  /// The name of the class of a transformable's values, as the model spells it.
  public var customClassName: String?
  /// The name of the value transformer of a transformable, as the model spells it.
  public var valueTransformerName: String?
  /// The name this attribute had in an earlier version of the model.
  public var renamingIdentifier: String?
  /// Text that changes the version hash although nothing else differs.
  public var versionHashModifier: String?
  /// Free texts by key, no part of the version hash.
  public var userInfo: [String: String] = [:]

  /// Describes an attribute; the further rules are set through its properties.
  public init(_ name: String, _ type: AttributeType, isOptional: Bool = true, default: Value = .null) {
    self.name = name
    self.type = type
    self.isOptional = isOptional
    self.defaultValue = `default`
  }
}

/// A relationship as a model describes it: where it leads, its inverse and its rules.
public struct RelationshipDescription: Sendable, Hashable {
  /// The effect on the destinations of deleting the source.
  public enum DeleteRule: String, Sendable, Hashable {
    /// The destinations keep a dangling reference.
    case noAction = "No Action"
    /// The destinations lose their reference to the deleted object.
    case nullify = "Nullify"
    /// The destinations are deleted too.
    case cascade = "Cascade"
    /// The delete is refused while there are destinations.
    case deny = "Deny"
  }

  /// The relationship's name, unique among the properties of its entity.
  public var name: String
  /// The name of the destination entity.
  public var destinationEntity: String
  /// The name of the inverse relationship of the destination entity.
  public var inverse: String?
  /// True if there can be several destinations.
  public var isToMany: Bool
  /// True if the destinations of a to-many relationship have an order.
  public var isOrdered = false
  /// True if there may be no destination.
  public var isOptional = true
  /// True if the relationship is kept in memory only.
  public var isTransient = false
  /// The effect on the destinations of deleting the source.
  public var deleteRule: DeleteRule
  /// The fewest destinations of a to-many relationship that is not empty; 0 for no limit.
  public var minimumCount = 0
  /// The most destinations of a to-many relationship; 0 for no limit.
  public var maximumCount = 0
  /// The name this relationship had in an earlier version of the model.
  public var renamingIdentifier: String?
  /// Text that changes the version hash although nothing else differs.
  public var versionHashModifier: String?
  /// Free texts by key, no part of the version hash.
  public var userInfo: [String: String] = [:]

  /// Describes a relationship; the further rules are set through its properties.
  public init(
    _ name: String, to destinationEntity: String, inverse: String? = nil, isToMany: Bool = false,
    deleteRule: DeleteRule = .nullify
  ) {
    self.name = name
    self.destinationEntity = destinationEntity
    self.inverse = inverse
    self.isToMany = isToMany
    self.deleteRule = deleteRule
  }
}

/// A fetch request that a model defines by name.
public struct FetchRequestTemplate: Sendable, Hashable {
  /// The name under which the model has it.
  public var name: String
  /// The name of the entity.
  public var entity: String
  /// The predicate in the format string's syntax, perhaps with `$name` variables; nil for all objects.
  public var predicate: String?
  /// The most objects to fetch; 0 for no limit.
  public var fetchLimit = 0
  /// The number of rows to read at a time; 0 for all.
  public var fetchBatchSize = 0
  /// True if objects of entities that inherit from the entity are meant too.
  public var includesSubentities = true
  /// True if values are read with the objects.
  public var includesPropertyValues = true
  /// True if objects come as faults.
  public var returnsObjectsAsFaults = true
  /// True if equal dictionaries are returned once.
  public var returnsDistinctResults = false

  /// Describes a fetch request; the further settings are set through its properties.
  public init(_ name: String, entity: String, predicate: String? = nil) {
    self.name = name
    self.entity = entity
    self.predicate = predicate
  }
}
