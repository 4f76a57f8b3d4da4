import ObjectGraph

extension ManagedObjectContext {
  /// A packed batch of persons with ages from 0.
  func personBatch(count: Int) throws -> RowBatch {
    guard let entity = coordinator.model.entitiesByName["Person"], let age = entity.property(named: "age") else {
      throw StoreError(.unsupported, "the model has no Person.age")
    }
    let keys = try coordinator.drawKeys(for: entity, count: count)
    return RowBatch(
      entity: entity, layout: coordinator.layouts[entity.index], coordinatorOrdinal: coordinator.ordinal,
      firstKey: keys.lowerBound, count: count,
      columns: [RowBatch.Column(slot: age.slot, values: .integers((0..<Int64(count)).map { $0 }))])
  }
}
