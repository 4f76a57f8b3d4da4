/// An entity as a model describes it, before the model resolves its names; see ``Entity``.
public struct EntityDescription: Sendable, Hashable {
  /// A named index over some properties, in order.
  public struct FetchIndex: Sendable, Hashable {
    public struct Element: Sendable, Hashable {
      public var property: String
      public var isAscending: Bool
      public init(property: String, isAscending: Bool = true) {
        self.property = property
        self.isAscending = isAscending
      }
    }
    public var name: String
    public var elements: [Element]
    public init(name: String, elements: [Element]) {
      self.name = name
      self.elements = elements
    }
  }

  /// A property whose value is the result of a fetch, with a predicate in which `$FETCH_SOURCE` is the object.
  public struct FetchedProperty: Sendable, Hashable {
    public var name: String
    public var entity: String
    public var predicate: String?
    public var userInfo: [String: String] = [:]
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
  public var isAbstract = false
  /// The name of the entity it inherits from.
  public var parent: String?
  /// Its own attributes, without the inherited ones, in the order of their slots.
  public var attributes: [AttributeDescription]
  /// Its own relationships, without the inherited ones, in the order of their slots.
  public var relationships: [RelationshipDescription]
  public var fetchedProperties: [FetchedProperty] = []
  /// Sets of attribute names whose values together are unique in the store.
  public var uniquenessConstraints: [[String]] = []
  public var fetchIndexes: [FetchIndex] = []
  /// The name this entity had in an earlier version of the model.
  public var renamingIdentifier: String?
  /// Text that changes the version hash although nothing else differs.
  public var versionHashModifier: String?
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
