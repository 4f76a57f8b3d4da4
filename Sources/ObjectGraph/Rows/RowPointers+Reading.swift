// What an object reads from its row: without a count of holders, since the object holds the row meanwhile.

extension RowPointers {
  /// The integer or Boolean in the slot, or nil.
  @inline(__always)
  func integer(_ slot: Int) -> Int64? { word(slot).map { Int64(bitPattern: $0) } }

  /// The number, or the date in seconds since 2001, in the slot, or nil.
  @inline(__always)
  func real(_ slot: Int) -> Double? { word(slot).map { Double(bitPattern: $0) } }

  /// The text in the slot, or nil.
  @inline(__always)
  func text(_ slot: Int) -> String? {
    word(slot).map { place in
      let bytes = UnsafeRawBufferPointer(start: tail + Int(place >> 32), count: Int(place & 0xffff_ffff))
      return String(copying: bytes)
    }
  }

  @inline(__always)
  private func word(_ slot: Int) -> UInt64? {
    check(slot)
    return isNull(slot) ? nil : slots[slot]
  }
}

extension String {
  /// The text that some bytes in UTF-8 stand for; what is none is replaced.
  ///
  /// Short texts are made where they will be: a third less time than to decode them, which looks for their kind first.
  @inline(__always)
  init(copying bytes: UnsafeRawBufferPointer) {
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
