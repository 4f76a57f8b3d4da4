public import Foundation
import ObjectModel

/// Which objects to fetch: an entity, a condition, an order, and how many.
///
///     try FetchRequest<Person>(#Predicate { $0.age >= 100 }, sortBy: [.ascending(\.age)])
///     try FetchRequest<Person>(format: "age >= %d AND name BEGINSWITH[c] %@", 100, "mc")
public struct FetchRequest<Object: ManagedObject>: PersistentStoreRequest {
  /// The name of the entity.
  public var entityName: String
  /// Which objects; nil for all.
  public var condition: Condition?
  /// The order, the most important sort first; none for no particular one.
  public var sortDescriptors: [Sort<Object>]
  /// The most objects to return; nil for no limit. Less than 0 counts as 0.
  public var fetchLimit: Int?
  /// How many objects to pass over first; past the end, nothing is left. Less than 0 counts as 0.
  public var fetchOffset = 0
  /// Whether objects of entities that inherit from the entity are meant too.
  public var includesSubentities = true
  /// Whether changes that are not saved count: this context's own, and its ancestors'.
  public var includesPendingChanges = true
  /// Whether objects come as faults whose values are at hand, or with their values set.
  public var returnsObjectsAsFaults = true
  /// Whether the values of the objects are read with them; if not, each batch of faults that is fired reads its own.
  public var includesPropertyValues = true
  /// Whether realised objects without changes take over the values that the fetch found, or keep their own.
  public var shouldRefreshRefetchedObjects = false
  /// How many rows to read at a time, when their objects are first used; 0 to read all with the fetch.
  ///
  /// ``ManagedObjectContext/fetchLazily(_:)`` makes the objects no earlier either.
  public var fetchBatchSize = 0
  /// Relationships whose destinations are read with the fetch, such as `department.employees`.
  ///
  /// Cost: one more statement for each relationship of each path, however many objects there are.
  public var relationshipKeyPathsForPrefetching: [String] = []
  /// What the dictionaries hold; empty for all stored attributes and to-one relationships. Only for dictionaries.
  public var propertiesToFetch: [FetchExpression] = []
  /// The properties whose equal values make a group, of which there is one dictionary. Only for dictionaries.
  public var propertiesToGroupBy: [String] = []
  /// Which groups are meant; its key paths are the names of what the dictionaries hold.
  public var havingCondition: Condition?
  /// Whether equal dictionaries are returned once. Only for dictionaries.
  public var returnsDistinctResults = false

  /// All objects of the class's entity.
  public init(sortBy sortDescriptors: [Sort<Object>] = [], limit: Int? = nil) {
    entityName = Object.entityName
    self.sortDescriptors = sortDescriptors
    fetchLimit = limit
  }

  /// The objects of the class's entity that meet a condition.
  public init(_ condition: Condition?, sortBy sortDescriptors: [Sort<Object>] = [], limit: Int? = nil) {
    self.init(entity: Object.entityName, condition, sortBy: sortDescriptors, limit: limit)
  }

  /// The objects of an entity that is known by name; those that meet a condition, or all.
  public init(
    entity entityName: String, _ condition: Condition? = nil, sortBy sortDescriptors: [Sort<Object>] = [],
    limit: Int? = nil
  ) {
    self.entityName = entityName
    self.condition = condition
    self.sortDescriptors = sortDescriptors
    fetchLimit = limit
  }

  /// The objects that a `#Predicate` matches.
  ///
  /// - Throws: ``ConditionError`` if a part of the predicate has no equivalent in a store.
  public init(
    _ predicate: Foundation.Predicate<Object>, sortBy sortDescriptors: [Sort<Object>] = [], limit: Int? = nil
  ) throws(ConditionError) {
    self.init(try Condition(predicate), sortBy: sortDescriptors, limit: limit)
  }

  /// The objects of an entity that a format string describes; see ``Condition/init(format:_:)``.
  ///
  /// - Throws: ``ConditionError`` with the column and the offending part of the text.
  public init(
    entity entityName: String? = nil, format: String, _ arguments: Any?..., sortBy sortDescriptors: [Sort<Object>] = [],
    limit: Int? = nil
  ) throws(ConditionError) {
    self.init(
      entity: entityName ?? Object.entityName, try Condition(format: format, arguments: arguments),
      sortBy: sortDescriptors, limit: limit)
  }
}

/// What is asked of a store: a value whose settings are variables.
public protocol PersistentStoreRequest: Sendable {}

extension PersistentStoreRequest {
  /// The same request with another value of one setting, so that a request that is made in one go can be a constant.
  ///
  ///     let request = FetchRequest<Person>().setting(\.fetchBatchSize, to: 50)
  ///
  /// - Parameters:
  ///   - setting: the variable to set.
  ///   - value: its value in the new request.
  public func setting<Value>(_ setting: WritableKeyPath<Self, Value>, to value: Value) -> Self {
    var request = self
    request[keyPath: setting] = value
    return request
  }
}
