/// Changes properties of all objects that a fetch request names straight in the store, in one transaction.
///
/// New values are constants, objects, or computed from the object's present values. Validation rules are not looked
/// at, but that required properties have values. A unique value that is taken makes the request fail.
///
///     let request = BatchUpdateRequest(
///       try FetchRequest<Person>(#Predicate { $0.age < 18 }),
///       propertiesToUpdate: ["age": try Operand(format: "age + 1"), "department": .object(id)])
///     let result = try context.execute(request)
public struct BatchUpdateRequest: PersistentStoreRequest {
  let query: BatchQuery
  /// The new values by the name of an attribute or a to-one relationship.
  public var propertiesToUpdate: [String: Operand]
  /// The kind of result to return.
  public var resultType = BatchResult.Kind.statusOnly

  /// Changes what a fetch request names.
  ///
  /// - Parameters:
  ///   - request: its entity, condition, order, limit and offset count; pending changes do not.
  ///   - propertiesToUpdate: the new values by the name of an attribute or a to-one relationship.
  public init<Object: ManagedObject>(_ request: FetchRequest<Object>, propertiesToUpdate: [String: Operand]) {
    query = BatchQuery(request)
    self.propertiesToUpdate = propertiesToUpdate
  }
}
