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
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  @inline(__always)
  private func word(_ slot: Int) -> UInt64? {
    check(slot)
    return isNull(slot) ? nil : slots[slot]
  }
}
