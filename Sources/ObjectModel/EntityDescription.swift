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
