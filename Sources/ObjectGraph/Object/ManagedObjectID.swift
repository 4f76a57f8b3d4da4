import Foundation
package import ObjectModel

/// The identity of a managed object in every context of its stack; plain values of 16 bytes, free to copy.
///
/// The key is drawn when the object is inserted, from a block that the store reserved, so an ID never changes:
/// "temporary" only means that no save has brought the object to a store yet.
public struct ManagedObjectID: Sendable {
  /// The primary key in the table of the entity's root.
  package let key: Int64
  /// Which coordinator of this process the object belongs to.
  package let coordinatorOrdinal: UInt32
  package let entityIndex: UInt16
  package let rootIndex: UInt16

  package init(key: Int64, entity: Entity, coordinatorOrdinal: UInt32) {
    self.key = key
    self.coordinatorOrdinal = coordinatorOrdinal
    entityIndex = UInt16(truncatingIfNeeded: entity.index)
    rootIndex = UInt16(truncatingIfNeeded: entity.root.index)
  }
}

extension ManagedObjectID: Hashable {
  // The key is unique in the whole family, so an ID made from a relationship to the family's root is the same ID.
  /// Whether both stand for the same object, saved or not, from whichever context they come.
  public static func == (left: Self, right: Self) -> Bool {
    left.key == right.key && left.rootIndex == right.rootIndex && left.coordinatorOrdinal == right.coordinatorOrdinal
  }

  /// The same before and after the save; follows no reference.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(key)
    hasher.combine(rootIndex)
  }
}
