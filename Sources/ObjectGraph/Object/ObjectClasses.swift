import ObjectModel

/// The classes of a model's objects by entity, and the entities by class.
struct ObjectClasses: @unchecked Sendable {
  // @unchecked: metatypes are immutable; they just are not marked so.
  private let byEntity: [ManagedObject.Type]
  private let entities: [ObjectIdentifier: Entity]

  init(_ model: ManagedObjectModel) {
    var entities: [ObjectIdentifier: Entity] = [:]
    byEntity = model.entities.map { entity in
      guard let objectClass = entity.objectClass else { return ManagedObject.self }
      guard let managed = objectClass as? ManagedObject.Type else {
        preconditionFailure("the class \(objectClass) of the entity \(entity.name) is no ManagedObject")
      }
      entities[ObjectIdentifier(managed)] = entity
      return managed
    }
    self.entities = entities
  }

  subscript(_ entityIndex: UInt16) -> ManagedObject.Type { byEntity[Int(entityIndex)] }

  func entity(of objectClass: ManagedObject.Type) -> Entity? { entities[ObjectIdentifier(objectClass)] }
}
