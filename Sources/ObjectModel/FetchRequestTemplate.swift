/// A fetch request that a model defines by name.
public struct FetchRequestTemplate: Sendable, Hashable {
  public var name: String
  /// The name of the entity.
  public var entity: String
  /// The predicate in the format string's syntax, perhaps with `$name` variables; nil for all objects.
  public var predicate: String?
  /// The most objects to fetch; 0 for no limit.
  public var fetchLimit = 0
  public var fetchBatchSize = 0
  public var includesSubentities = true
  public var includesPropertyValues = true
  public var returnsObjectsAsFaults = true
  public var returnsDistinctResults = false

  /// Describes a fetch request; the further settings are set through its properties.
  public init(_ name: String, entity: String, predicate: String? = nil) {
    self.name = name
    self.entity = entity
    self.predicate = predicate
  }
}
