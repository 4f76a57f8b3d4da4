import ObjectModel

/// A fetch request with its names resolved, and without its result's type.
struct FetchQuery {
  var entity: Entity
  var condition: Condition?
  var sorts: [ResolvedSort] = []
  var limit: Int?
  var offset = 0
  var includesSubentities = true
  var includesPendingChanges = true
  var includesPropertyValues = true
  /// True if realised objects without changes get the values that were found.
  var refreshesObjects = false
  /// The number of rows to read at a time; 0 for all.
  var batchSize = 0
  var prefetching: [PrefetchPath] = []
  /// True if all rows go to the row cache, and not only the first ones.
  var keepsAllRows = false
  /// True if the fetch ends when its task is cancelled.
  var isCancellable = false

  init(entity: Entity) { self.entity = entity }
}

extension FetchQuery {
  /// - Throws: ``ConditionError`` that names what does not exist in the model.
  init<Object>(_ request: FetchRequest<Object>, _ model: ManagedObjectModel) throws {
    guard let entity = model.entitiesByName[request.entityName] else {
      throw ConditionError(.unknownEntity, "the model has no entity \"\(request.entityName)\"")
    }
    self.init(entity: entity)
    condition = try request.condition?.resolved(for: entity)
    var sorts: [ResolvedSort] = []
    for sort in request.sortDescriptors { sorts.append(try sort.resolved(for: entity)) }
    self.sorts = sorts
    limit = request.fetchLimit.map { max(0, $0) }
    offset = max(0, request.fetchOffset)
    includesSubentities = request.includesSubentities
    includesPendingChanges = request.includesPendingChanges
    includesPropertyValues = request.includesPropertyValues
    refreshesObjects = request.shouldRefreshRefetchedObjects
    batchSize = max(0, request.fetchBatchSize)
    prefetching = try PrefetchPath.paths(request.relationshipKeyPathsForPrefetching, from: entity)
  }
}
