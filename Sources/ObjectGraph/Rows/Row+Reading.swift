package import Foundation

extension Row {
  @inlinable package func isNull(_ slot: Int) -> Bool {
    let pointers = pointers
    pointers.check(slot)
    return pointers.isNull(slot)
  }

  @inlinable
  @inline(__always)
  package func word(_ slot: Int) -> UInt64 {
    let pointers = pointers
    pointers.check(slot)
    return pointers.slots[slot]
  }

  /// The integer or Boolean in the slot; meaningless if the slot is null.
  @inlinable package func integer(_ slot: Int) -> Int64 { Int64(bitPattern: word(slot)) }

  /// The number, or the date in seconds since 2001, in the slot; meaningless if the slot is null.
  @inlinable package func real(_ slot: Int) -> Double { Double(bitPattern: word(slot)) }

  /// Lends the bytes of a text, UUID or reference without copying; they are valid during the call only.
  @inlinable
  @inline(__always)
  package func withBytes<Result, Failure: Error>(
    _ slot: Int, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(unsafeBytes(slot))
  }

  /// The bytes of a text, UUID or reference where they lie; valid while the row is held and not written.
  @inlinable package func unsafeBytes(_ slot: Int) -> UnsafeRawBufferPointer {
    let place = word(slot)
    return UnsafeRawBufferPointer(start: pointers.tail + Int(place >> 32), count: Int(place & 0xffff_ffff))
  }

  /// The text in the slot; meaningless if the slot is null.
  package func text(_ slot: Int) -> String { String(copying: unsafeBytes(slot)) }

  /// The UUID in the slot; the slot must not be null.
  package func uuid(_ slot: Int) -> UUID { withBytes(slot) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) } }

  /// The destination of the to-one relationship in the slot; the slot must not be null.
  @inlinable package func reference(_ slot: Int) -> ManagedObjectID {
    withBytes(slot) { $0.loadUnaligned(as: ManagedObjectID.self) }
  }

  /// The destination of the to-one relationship in the slot, or nil.
  package func referenceIfPresent(_ slot: Int) -> ManagedObjectID? { isNull(slot) ? nil : reference(slot) }

  /// The binary data in the slot; the slot must not be null.
  package func blob(_ slot: Int) -> Blob { pointers.header.pointee.blobs[Int(word(slot))] }
}
