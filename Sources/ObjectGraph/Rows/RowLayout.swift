package import ObjectModel

/// What is needed to make rows of one entity: a row of nulls, and what each slot holds.
package struct RowLayout: Sendable {
  package let slotCount: Int
  /// Storage class by slot.
  package let storage: [StorageClass]
  package let entityIndex: UInt16

  package init(_ entity: Entity) {
    slotCount = entity.properties.count
    storage = entity.properties.map(\.storage)
    entityIndex = UInt16(truncatingIfNeeded: entity.index)
  }
}
