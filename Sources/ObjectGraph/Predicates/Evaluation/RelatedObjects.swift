package import ObjectModel

/// A reader of related objects for evaluation in memory.
package struct RelatedObjects {
  package typealias Object = (id: ManagedObjectID, row: Row)

  let row: (ManagedObjectID) throws -> Row?
  let destinations: (ManagedObjectID, Property) throws -> [Object]

  /// - Parameters:
  ///   - row: the row of an object that a to-one relationship leads to, or nil if there is none.
  ///   - destinations: the objects that an object's to-many relationship leads to.
  package init(
    row: @escaping (ManagedObjectID) throws -> Row?,
    destinations: @escaping (ManagedObjectID, Property) throws -> [Object]
  ) {
    self.row = row
    self.destinations = destinations
  }

  /// Returns a reader that throws at the next traversal of a to-many relationship once the task is cancelled.
  func stoppingWhenCancelled(_ isCancellable: Bool) -> RelatedObjects {
    if !isCancellable { return self }
    return RelatedObjects(row: row) { [destinations] in
      try Task.checkCancellation()
      return try destinations($0, $1)
    }
  }
}

/// The objects that a condition is evaluated on: the one under test, and the elements of subqueries.
struct EvaluationScope {
  let id: ManagedObjectID
  let row: Row
  /// Outermost first.
  private(set) var elements: [RelatedObjects.Object] = []
  let related: RelatedObjects

  init(id: ManagedObjectID, row: Row, related: RelatedObjects) {
    self.id = id
    self.row = row
    self.related = related
  }

  /// Returns the object under test, or the element of the subquery with that index.
  @inline(__always)
  func object(_ origin: Int?) -> RelatedObjects.Object {
    if let origin { elements[origin] } else { (id, row) }
  }

  func adding(_ element: RelatedObjects.Object) -> EvaluationScope {
    var scope = self
    scope.elements.append(element)
    return scope
  }
}
