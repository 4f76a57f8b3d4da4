public import ObjectModel

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
  ) throws(ConditionError) {
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
