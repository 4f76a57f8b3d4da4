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
