import Foundation
import ObjectModel

/// A value prepared for comparisons; bytes are borrowed.
enum Scalar {
  case null
  case integer(Int64)
  case real(Double)
  case bytes(UnsafeRawBufferPointer)
  case object(ManagedObjectID)

  var isNull: Bool { if case .null = self { true } else { false } }

  /// Returns a negative number, 0 or a positive number if this comes before, with or after the other; null comes first.
  ///
  /// Bytes are compared as unsigned bytes, integers with reals exactly; other kinds are never mixed.
  func order(_ other: Scalar) -> Int {
    switch (self, other) {
    case (.null, .null): 0
    case (.null, _): -1
    case (_, .null): 1
    case (.integer(let left), .integer(let right)): left < right ? -1 : left > right ? 1 : 0
    case (.real(let left), .real(let right)): left < right ? -1 : left > right ? 1 : 0
    case (.integer(let left), .real(let right)): Self.order(left, right)
    case (.real(let left), .integer(let right)): -Self.order(right, left)
    case (.bytes(let left), .bytes(let right)): Self.order(left, right)
    case (.object(let left), .object(let right)): Self.order(left, right)
    default: self.rank - other.rank
    }
  }

  private var rank: Int {
    switch self {
    case .null: 0
    case .integer, .real: 1
    case .bytes: 2
    case .object: 3
    }
  }

  private static func order(_ left: Int64, _ right: Double) -> Int {
    if right >= 0x1p63 { return -1 }
    if right < -0x1p63 { return 1 }
    let whole = Int64(right)
    if left != whole { return left < whole ? -1 : 1 }
    let fraction = right - Double(whole)
    return fraction > 0 ? -1 : fraction < 0 ? 1 : 0
  }

  private static func order(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    let count = min(left.count, right.count)
    if count > 0, let leftBase = left.baseAddress, let rightBase = right.baseAddress {
      let result = memcmp(leftBase, rightBase, count)
      if result != 0 { return Int(result) }
    }
    return left.count - right.count
  }

  private static func order(_ left: ManagedObjectID, _ right: ManagedObjectID) -> Int {
    if left == right { return 0 }
    return (left.coordinatorOrdinal, left.rootIndex, left.key) < (right.coordinatorOrdinal, right.rootIndex, right.key)
      ? -1 : 1
  }
}
