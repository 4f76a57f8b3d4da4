package import ObjectModel

/// A derived attribute with the properties that lead to what it is computed from.
package struct DerivedAttribute: Sendable {
  /// The entity that declares it; those that inherit from it have it too.
  package let entity: Entity
  package let property: Property
  package let operation: Derivation.Operation
  /// The relationships to follow; the last one of an aggregate is to-many.
  package let hops: [Property]
  /// The attribute at their end.
  package let source: Property?

  /// All derived attributes of a model, those that are computed from others behind them.
  package static func all(_ model: ManagedObjectModel) -> [DerivedAttribute] {
    var all = model.entities.flatMap { entity in
      entity.properties.filter { $0.declaringEntity == entity.name && $0.derivation != nil }.compactMap {
        DerivedAttribute($0, of: entity)
      }
    }
    // Stable: what is computed from a derived attribute comes behind those that are not.
    all = all.filter { !$0.isComputedFromDerived } + all.filter(\.isComputedFromDerived)
    return all
  }

  private init?(_ property: Property, of entity: Entity) {
    guard let derivation = property.derivation else { return nil }
    self.entity = entity
    self.property = property
    operation = derivation.operation
    var hops: [Property] = []
    var end = entity
    for name in derivation.relationships {
      guard let hop = end.property(named: name), let destination = hop.destination else { return nil }
      hops.append(hop)
      end = destination
    }
    self.hops = hops
    source = derivation.attribute.flatMap { end.property(named: $0) }
  }

  private var isComputedFromDerived: Bool { source?.derivation != nil }

  /// The entity that a hop begins at.
  package func origin(ofHop index: Int) -> Entity { index == 0 ? entity : hops[index - 1].destination ?? entity }
}

/// A value that a save has computed.
package struct DerivedValue: Sendable {
  package let id: ManagedObjectID
  package let slot: Int
  package let value: Value

  package init(id: ManagedObjectID, slot: Int, value: Value) {
    self.id = id
    self.slot = slot
    self.value = value
  }
}
