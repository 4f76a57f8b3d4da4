package import ObjectModel

/// The layout of the rows of one entity: the storage class of each slot, and the slots of references.
package struct RowLayout: Sendable {
  /// A to-one relationship as a row has it.
  package struct Reference: Sendable {
    package let slot: Int
    /// The slot of the object's place among those of its destination, if they have an order.
    package let orderSlot: Int?
    /// The delete rule of the destination's relationship that leads back; nil if none leads back.
    package let deleteRule: RelationshipDescription.DeleteRule?
    /// The slot by which the destination leads back, if the relationship is one to one.
    package let inverseSlot: Int?

    /// True if a delete of the destination has to do with the object.
    package var isRuled: Bool { deleteRule.map { $0 != .noAction } ?? false }
  }

  package let slotCount: Int
  /// Storage class by slot.
  package let storage: [StorageClass]
  package let entityIndex: UInt16
  /// The slots that lead to other objects and are stored.
  package let references: [Reference]
  /// Those of them that are one to one.
  package let partners: [Reference]

  package init(_ entity: Entity) {
    slotCount = entity.properties.count
    storage = entity.properties.map(\.storage)
    entityIndex = UInt16(truncatingIfNeeded: entity.index)
    references = entity.properties.filter { $0.storage == .reference && $0.isPersistent }.map { property in
      Reference(
        slot: property.slot, orderSlot: property.orderProperty?.slot,
        deleteRule: property.inverse?.relationship?.deleteRule,
        inverseSlot: property.inverse.flatMap { $0.storage == .reference ? $0.slot : nil })
    }
    partners = references.filter { $0.inverseSlot != nil }
  }
}
