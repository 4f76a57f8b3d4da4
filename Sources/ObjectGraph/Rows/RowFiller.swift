/// Makes a row from values that come one after the other: nobody else can hold it yet, so none of them looks for that.
package struct RowFiller {
  private let row: Row
  private let pointers: RowPointers

  /// Begins with a row of nulls.
  ///
  /// - Parameter tailCapacity: the bytes of all texts, UUIDs and references that will be set.
  package init(_ layout: RowLayout, tailCapacity: Int) {
    row = Row(layout, tailCapacity: tailCapacity)
    pointers = row.pointers
  }

  package func setInteger(_ value: Int64, _ slot: Int) { setWord(UInt64(bitPattern: value), slot) }

  package func setReal(_ value: Double, _ slot: Int) { setWord(value.bitPattern, slot) }

  package func setReference(_ value: ManagedObjectID, _ slot: Int) {
    withUnsafeBytes(of: value) { setBytes($0, slot) }
  }

  /// Sets a text, a UUID or a reference; once per slot.
  package func setBytes(_ bytes: UnsafeRawBufferPointer, _ slot: Int) {
    let header = pointers.header
    let offset = header.pointee.tailCount
    precondition(bytes.count <= Int(header.pointee.tailCapacity - offset), "a row has no room for this text")
    if let base = bytes.baseAddress { (pointers.tail + Int(offset)).copyMemory(from: base, byteCount: bytes.count) }
    header.pointee.tailCount = offset + Int32(bytes.count)
    setWord(UInt64(offset) << 32 | UInt64(bytes.count), slot)
    pointers.setHasTail(slot)
  }

  package func setBlob(_ blob: Blob, _ slot: Int) {
    setWord(UInt64(pointers.header.pointee.blobs.count), slot)
    pointers.header.pointee.blobs.append(blob)
  }

  /// The row, under the version that it has in the store.
  package func finish(version: Int64) -> Row {
    row.stamp(version: version)
    return row
  }

  @inline(__always)
  private func setWord(_ word: UInt64, _ slot: Int) {
    pointers.check(slot)
    pointers.slots[slot] = word
    pointers.setNull(slot, false)
  }
}
