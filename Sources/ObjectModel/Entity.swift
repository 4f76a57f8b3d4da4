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
