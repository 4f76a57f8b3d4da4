import ObjectModel

extension PersistentStoreCoordinator {
  /// Checks what of the model can't be checked without knowing predicates.
  ///
  /// - Throws: ``ModelError`` that names the fetched property or fetch request whose predicate can't be read.
  func checkPredicates() throws(ModelError) {
    for entity in model.entities {
      for property in entity.entityDescription.fetchedProperties {
        try check(property.predicate, entity: entity.name, property: property.name)
      }
    }
    for template in model.fetchRequestTemplates.values.sorted(by: { $0.name < $1.name }) {
      try check(template.predicate, entity: template.entity, property: template.name)
    }
  }

  private func check(_ predicate: String?, entity: String, property: String) throws(ModelError) {
    guard let predicate else { return }
    do throws(ConditionError) { _ = try Condition(format: predicate) } catch {
      throw ModelError(.invalidValue, "the predicate can't be read: \(error)", entity: entity, property: property)
    }
  }
}
