/// The memory of a row in one allocation: a header, 64-bit words, and a tail of bytes.
///
///     [version] [null bits] [tail bits] [one word per slot] | tail: texts, UUIDs, object IDs
///
/// Integers and reals lie in their word. The word of a text, of bytes or of a reference holds offset (high half) and
/// length (low half) of its bytes in the tail, and its tail bit is set. The word of a blob is an index into the blobs.
package typealias RowStorage = ManagedBuffer<RowHeader, UInt64>

/// The header of a row's memory.
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

// What an object reads from its row: without a count of holders, since the object holds the row meanwhile.

extension RowPointers {
  /// The integer or Boolean in the slot, or nil.
  @inlinable
  @inline(__always)
  package func integer(_ slot: Int) -> Int64? { word(slot).map { Int64(bitPattern: $0) } }

  /// The number, or the date in seconds since 2001, in the slot, or nil.
  @inlinable
  @inline(__always)
  package func real(_ slot: Int) -> Double? { word(slot).map { Double(bitPattern: $0) } }

  /// The text in the slot, or nil.
  @inlinable
  @inline(__always)
  package func text(_ slot: Int) -> String? {
    word(slot).map { place in
      let bytes = UnsafeRawBufferPointer(start: tail + Int(place >> 32), count: Int(place & 0xffff_ffff))
      return String(copying: bytes)
    }
  }

  @inlinable
  @inline(__always)
  func word(_ slot: Int) -> UInt64? {
    check(slot)
    return isNull(slot) ? nil : slots[slot]
  }
}

extension String {
  /// The text that some bytes in UTF-8 stand for; what is none is replaced.
  ///
  /// Short texts are made where they will be: a third less time than to decode them, which looks for their kind first.
  @inlinable
  @inline(__always)
  package init(copying bytes: UnsafeRawBufferPointer) {
    if bytes.count <= 15, let start = bytes.baseAddress {
      self.init(unsafeUninitializedCapacity: bytes.count) { text in
        UnsafeMutableRawBufferPointer(text).copyMemory(from: UnsafeRawBufferPointer(start: start, count: bytes.count))
        return bytes.count
      }
    } else {
      self.init(decoding: bytes, as: UTF8.self)
    }
  }
}

/// Estimates of the memory that allocations take, without asking the allocator.
package enum Allocation {
  /// The header of an object of Swift.
  private static let objectHeader = 16
  /// The header of an array's memory behind that: count and capacity.
  private static let arrayHeader = 16
  /// The header that glibc puts before each block of memory, and the unit that it rounds up to.
  private static let blockHeader = 8
  private static let blockUnit = 16

  /// The bytes that an object takes whose properties have so many.
  package static func byteCount(_ properties: Int) -> Int {
    let bytes = objectHeader + properties + blockHeader
    return (bytes + blockUnit - 1) / blockUnit * blockUnit
  }

  /// The bytes that an array takes whose elements have room for so many.
  package static func byteCount(ofElements bytes: Int) -> Int { byteCount(arrayHeader + bytes) }

  /// The bytes that the table of a dictionary takes, of which at most three quarters are ever in use.
  package static func byteCount(ofTable capacity: Int, entry: Int) -> Int {
    capacity == 0 ? 0 : capacity * 4 / 3 * entry
  }
}
