/// The memory of a row in one allocation: a header, 64-bit words, and a tail of bytes.
///
///     [version] [null bits] [tail bits] [one word per slot] | tail: texts, UUIDs, object IDs
///
/// Integers and reals lie in their word. The word of a text, of bytes or of a reference holds offset (high half) and
/// length (low half) of its bytes in the tail, and its tail bit is set. The word of a blob is an index into the blobs.
package typealias RowStorage = ManagedBuffer<RowHeader, UInt64>

/// What a row's memory tells of itself.
package struct RowHeader {
  package var slotCount: Int32
  /// Bytes of the tail in use, live or overwritten.
  package var tailCount: Int32
  package var tailCapacity: Int32
  package var entityIndex: UInt16
  /// The values of blob slots, which a copy of the row shares.
  package var blobs: [Blob]

  /// Words of one bit per slot.
  @inlinable package var bitWordCount: Int { (Int(slotCount) + 63) >> 6 }
  /// The index of the first slot's word.
  @inlinable package var firstSlot: Int { 1 + 2 * bitWordCount }
  /// Words before the tail.
  @inlinable package var fixedWordCount: Int { firstSlot + Int(slotCount) }
}

/// Pointers into a row's memory, valid while the row is.
package struct RowPointers {
  package let header: UnsafeMutablePointer<RowHeader>
  package let words: UnsafeMutablePointer<UInt64>

  @inlinable
  @inline(__always)
  package init(_ storage: RowStorage) {
    (header, words) = storage.withUnsafeMutablePointers { ($0, $1) }
  }

  @inlinable
  @inline(__always)
  package var slots: UnsafeMutablePointer<UInt64> { words + header.pointee.firstSlot }

  @inlinable
  @inline(__always)
  package var tail: UnsafeMutableRawPointer { UnsafeMutableRawPointer(words + header.pointee.fixedWordCount) }

  @inlinable
  @inline(__always)
  package func isNull(_ slot: Int) -> Bool { words[1 + slot >> 6] & (1 << UInt64(slot & 63)) != 0 }

  @inlinable
  @inline(__always)
  package func setNull(_ slot: Int, _ isNull: Bool) {
    let bit: UInt64 = 1 << UInt64(slot & 63)
    if isNull { words[1 + slot >> 6] |= bit } else { words[1 + slot >> 6] &= ~bit }
  }

  @inlinable
  @inline(__always)
  package func hasTail(_ slot: Int) -> Bool {
    words[1 + header.pointee.bitWordCount + slot >> 6] & (1 << UInt64(slot & 63)) != 0
  }

  @inlinable
  @inline(__always)
  package func setHasTail(_ slot: Int) {
    words[1 + header.pointee.bitWordCount + slot >> 6] |= 1 << UInt64(slot & 63)
  }

  @inlinable
  @inline(__always)
  package func check(_ slot: Int) {
    precondition(slot >= 0 && slot < Int(header.pointee.slotCount), "a row has no such slot")
  }
}
