public import Foundation
public import ObjectModel

/// A description of the objects to fetch: an entity, a condition, an order, and a limit.
///
///     try FetchRequest<Person>(#Predicate { $0.age >= 100 }, sortBy: [.ascending(\.age)])
///     try FetchRequest<Person>(format: "age >= %d AND name BEGINSWITH[c] %@", 100, "mc")
public struct FetchRequest<Object: ManagedObject>: PersistentStoreRequest {
  /// The name of the entity.
  public var entityName: String
  /// The condition that objects must meet; nil for all.
  public var condition: Condition?
  /// The sorts, the most important first; empty for no particular order.
  public var sortDescriptors: [Sort<Object>]
  /// The maximum number of objects; nil for no limit. Less than 0 counts as 0.
  public var fetchLimit: Int?
  /// The number of objects to skip first; past the end, the result is empty. Less than 0 counts as 0.
  public var fetchOffset = 0
  /// True to include objects of subentities.
  public var includesSubentities = true
  /// True to include unsaved changes of this context and its ancestors.
  public var includesPendingChanges = true
  /// True to return objects as faults that have their rows; false to realize them.
  public var returnsObjectsAsFaults = true
  /// True to read the objects' values with the fetch; if false, each batch of faults reads its own when fired.
  public var includesPropertyValues = true
  /// True to update realized objects without changes to the fetched values; false to keep theirs.
  public var shouldRefreshRefetchedObjects = false
  /// The number of rows to read at a time, when their objects are first used; 0 to read all with the fetch.
  ///
  /// ``ManagedObjectContext/fetchLazily(_:)`` also makes the objects only then.
  public var fetchBatchSize = 0
  /// Relationships whose destinations are read with the fetch, such as `department.employees`.
  ///
  /// Cost: one more statement for each relationship of each path, however many objects there are.
  public var relationshipKeyPathsForPrefetching: [String] = []
  /// The entries of the dictionaries; empty for all stored attributes and to-one relationships. Only for dictionaries.
  public var propertiesToFetch: [FetchExpression] = []
  /// The properties to group by; there is one dictionary per group. Only for dictionaries.
  public var propertiesToGroupBy: [String] = []
  /// The condition that groups must meet; its key paths are names of the dictionaries' entries.
  public var havingCondition: Condition?
  /// True to return equal dictionaries once. Only for dictionaries.
  public var returnsDistinctResults = false

  /// Makes a request for all objects of the class's entity.
  public init(sortBy sortDescriptors: [Sort<Object>] = [], limit: Int? = nil) {
    entityName = Object.entityName
    self.sortDescriptors = sortDescriptors
    fetchLimit = limit
  }

  /// Makes a request for the objects of the class's entity that meet a condition.
  public init(_ condition: Condition?, sortBy sortDescriptors: [Sort<Object>] = [], limit: Int? = nil) {
    self.init(entity: Object.entityName, condition, sortBy: sortDescriptors, limit: limit)
  }

  /// Makes a request for the objects of an entity by name; those that meet a condition, or all.
  public init(
    entity entityName: String, _ condition: Condition? = nil, sortBy sortDescriptors: [Sort<Object>] = [],
    limit: Int? = nil
  ) {
    self.entityName = entityName
    self.condition = condition
    self.sortDescriptors = sortDescriptors
    fetchLimit = limit
  }

  /// Makes a request for the objects that a `#Predicate` matches.
  ///
  /// - Throws: ``ConditionError`` if a part of the predicate has no equivalent in a store.
  public init(
    _ predicate: Foundation.Predicate<Object>, sortBy sortDescriptors: [Sort<Object>] = [], limit: Int? = nil
  ) throws {
    self.init(try Condition(predicate), sortBy: sortDescriptors, limit: limit)
  }

  /// Makes a request for the objects of an entity that meet a format string; see ``Condition/init(format:_:)``.
  ///
  /// - Throws: ``ConditionError`` with the column and the offending part of the text.
  public init(
    entity entityName: String? = nil, format: String, _ arguments: Any?..., sortBy sortDescriptors: [Sort<Object>] = [],
    limit: Int? = nil
  ) throws {
    self.init(
      entity: entityName ?? Object.entityName, try Condition(format: format, arguments: arguments),
      sortBy: sortDescriptors, limit: limit)
  }
}

/// A request to a store: a value whose settings are variables.
public protocol PersistentStoreRequest: Sendable {}

extension PersistentStoreRequest {
  /// Returns the same request with another value of one setting, so that a request can be made in one expression.
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

extension FetchRequest {
  /// Makes a fetch request that the model defines by name.
  ///
  /// - Parameters:
  ///   - name: the template's name in the model.
  ///   - model: the model.
  ///   - variables: values for the `$name` variables of its predicate.
  /// - Throws: ``ConditionError`` if there is no such template, or its predicate can't be parsed.
  public init(
    template name: String, of model: ManagedObjectModel, substituting variables: [String: (any Sendable)?] = [:]
  ) throws {
    guard let template = model.fetchRequestTemplates[name] else {
      throw ConditionError(.unknownEntity, "the model has no fetch request \"\(name)\"")
    }
    var condition: Condition?
    if let predicate = template.predicate { condition = try Condition(format: predicate).substituting(variables) }
    self.init(entity: template.entity, condition)
    if template.fetchLimit > 0 { fetchLimit = template.fetchLimit }
    fetchBatchSize = template.fetchBatchSize
    includesSubentities = template.includesSubentities
    includesPropertyValues = template.includesPropertyValues
    returnsObjectsAsFaults = template.returnsObjectsAsFaults
    returnsDistinctResults = template.returnsDistinctResults
  }
}
