import Foundation
package import ObjectModel

/// The identity of a managed object in every context of its stack; plain values of 16 bytes, free to copy.
///
/// The key is drawn when the object is inserted, from a block that the store reserved, so an ID never changes:
/// "temporary" only means that no save has brought the object to a store yet.
public struct ManagedObjectID: Sendable {
  /// The primary key in the table of the entity's root.
  @usableFromInline package let key: Int64
  /// The number of the object's coordinator in this process.
  @usableFromInline package let coordinatorOrdinal: UInt32
  @usableFromInline package let entityIndex: UInt16
  @usableFromInline package let rootIndex: UInt16

  package init(key: Int64, entity: Entity, coordinatorOrdinal: UInt32) {
    self.init(
      key: key, entityIndex: UInt16(truncatingIfNeeded: entity.index),
      rootIndex: UInt16(truncatingIfNeeded: entity.rootIndex), coordinatorOrdinal: coordinatorOrdinal)
  }

  @inlinable package init(key: Int64, entityIndex: UInt16, rootIndex: UInt16, coordinatorOrdinal: UInt32) {
    self.key = key
    self.coordinatorOrdinal = coordinatorOrdinal
    self.entityIndex = entityIndex
    self.rootIndex = rootIndex
  }
}

extension ManagedObjectID: Hashable {
  // The key is unique in the whole family, so an ID made from a relationship to the family's root is the same ID.
  /// True if both stand for the same object, saved or not, from whichever context they come.
  @inlinable public static func == (left: Self, right: Self) -> Bool {
    left.key == right.key && left.rootIndex == right.rootIndex && left.coordinatorOrdinal == right.coordinatorOrdinal
  }

  /// The same before and after the save; follows no reference.
  @inlinable public func hash(into hasher: inout Hasher) {
    hasher.combine(key)
    hasher.combine(rootIndex)
  }

  /// The hash by which a dictionary or set of IDs files them.
  ///
  /// Contexts look objects up by ID several times per object, and the standard hash of 10 bytes takes several times as
  /// long. Keys are drawn by stores, so nobody can choose them to collide.
  @inlinable public func _rawHashValue(seed: Int) -> Int {
    // The finalizer of MurmurHash3: each bit of the key changes each bit of the hash with the same likelihood.
    var bits = UInt64(bitPattern: key) ^ UInt64(rootIndex) << 48 ^ UInt64(truncatingIfNeeded: seed)
    bits = (bits ^ bits >> 33) &* 0xff51_afd7_ed55_8ccd
    bits = (bits ^ bits >> 33) &* 0xc4ce_b9fe_1a85_ec53
    return Int(truncatingIfNeeded: bits ^ bits >> 33)
  }
}
