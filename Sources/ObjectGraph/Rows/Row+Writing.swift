package import Foundation

extension Row {
  package mutating func setNull(_ slot: Int) {
    makeUnique(tailSpace: 0)
    pointers.check(slot)
    pointers.setNull(slot, true)
  }

  package mutating func setInteger(_ value: Int64, _ slot: Int) { setWord(UInt64(bitPattern: value), slot) }

  package mutating func setReal(_ value: Double, _ slot: Int) { setWord(value.bitPattern, slot) }

  package mutating func setText(_ text: String, _ slot: Int) {
    var text = text
    text.withUTF8 { setBytes(UnsafeRawBufferPointer($0), slot) }
  }

  package mutating func setUUID(_ value: UUID, _ slot: Int) {
    withUnsafeBytes(of: value.uuid) { setBytes($0, slot) }
  }

  package mutating func setReference(_ value: ManagedObjectID, _ slot: Int) {
    withUnsafeBytes(of: value) { setBytes($0, slot) }
  }

  package mutating func setBlob(_ blob: Blob, _ slot: Int) {
    makeUnique(tailSpace: 0)
    if isNull(slot) {
      pointers.header.pointee.blobs.append(blob)
      setWord(UInt64(pointers.header.pointee.blobs.count - 1), slot)
    } else {
      pointers.header.pointee.blobs[Int(word(slot))] = blob
    }
  }

  /// Writes bytes into the tail, over the old ones if they fit there.
  package mutating func setBytes(_ bytes: UnsafeRawBufferPointer, _ slot: Int) {
    precondition(bytes.count <= Int32.max / 2, "a text of over 1 GiB does not fit in a row")
    makeUnique(tailSpace: bytes.count)
    let pointers = pointers
    pointers.check(slot)
    let old = pointers.slots[slot]
    var offset = Int(pointers.header.pointee.tailCount)
    if !pointers.isNull(slot), bytes.count <= Int(old & 0xffff_ffff) {
      offset = Int(old >> 32)
    } else {
      pointers.header.pointee.tailCount += Int32(bytes.count)
    }
    if let base = bytes.baseAddress, bytes.count > 0 {
      (pointers.tail + offset).copyMemory(from: base, byteCount: bytes.count)
    }
    pointers.slots[slot] = UInt64(offset) << 32 | UInt64(bytes.count)
    pointers.setNull(slot, false)
    pointers.setHasTail(slot)
  }

  @inline(__always)
  private mutating func setWord(_ word: UInt64, _ slot: Int) {
    makeUnique(tailSpace: 0)
    let pointers = pointers
    pointers.check(slot)
    pointers.slots[slot] = word
    pointers.setNull(slot, false)
  }

  /// Makes sure that nobody else holds the buffer and that its tail has room; its values are then new ones.
  @inline(__always)
  private mutating func makeUnique(tailSpace: Int) {
    if isKnownUniquelyReferenced(&storage) {
      let header = pointers.header
      if Int(header.pointee.tailCapacity - header.pointee.tailCount) >= tailSpace {
        pointers.words[0] = 0
        return
      }
    }
    self = copy(tailSpace: tailSpace)
  }

  /// The same values in a buffer of their own, which is not stored under any version yet.
  var unversioned: Row { copy(tailSpace: 0) }

  /// A copy under version 0, without the bytes that were overwritten.
  private func copy(tailSpace: Int) -> Row {
    let old = pointers
    let header = old.header.pointee
    var live = 0
    for slot in 0..<Int(header.slotCount) where old.hasTail(slot) && !old.isNull(slot) {
      live += Int(old.slots[slot] & 0xffff_ffff)
    }
    let copy = Row(
      slotCount: Int(header.slotCount), entityIndex: header.entityIndex,
      tailCapacity: live + tailSpace + max(64, live / 2), blobs: header.blobs)
    let new = copy.pointers
    new.words.initialize(from: old.words, count: header.fixedWordCount)
    new.words[0] = 0
    var used = 0
    for slot in 0..<Int(header.slotCount) where old.hasTail(slot) && !old.isNull(slot) {
      let place = old.slots[slot]
      let count = Int(place & 0xffff_ffff)
      (new.tail + used).copyMemory(from: old.tail + Int(place >> 32), byteCount: count)
      new.slots[slot] = UInt64(used) << 32 | UInt64(count)
      used += count
    }
    new.header.pointee.tailCount = Int32(used)
    return copy
  }
}
