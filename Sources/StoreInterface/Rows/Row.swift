package import Foundation
import ObjectModel
import Synchronization

/// The values of one object: a contiguous buffer, copied when written while shared.
///
/// Rows travel from child to parent to store by reference. A row that is shared is never written, but for its version,
/// which is set atomically once the row is on disk; so every context that holds this very row then knows its version.
package struct Row: @unchecked Sendable {
  // @unchecked: writing checks for unique ownership first, and the version is atomic.

  @usableFromInline var storage: RowStorage

  @inlinable
  @inline(__always)
  package var pointers: RowPointers { RowPointers(storage) }

  /// A row of nulls, with room for texts.
  package init(_ layout: RowLayout, tailCapacity: Int = 64) {
    self.init(slotCount: layout.slotCount, entityIndex: layout.entityIndex, tailCapacity: tailCapacity)
    let pointers = pointers
    let header = pointers.header.pointee
    pointers.words.initialize(repeating: 0, count: header.fixedWordCount)
    for index in 1..<(1 + header.bitWordCount) { pointers.words[index] = .max }
  }

  /// A row whose words are not initialized.
  init(slotCount: Int, entityIndex: UInt16, tailCapacity: Int, blobs: [Blob] = []) {
    let tailWords = (tailCapacity + 7) >> 3
    let header = RowHeader(
      slotCount: Int32(slotCount), tailCount: 0, tailCapacity: Int32(tailWords << 3), entityIndex: entityIndex,
      blobs: blobs)
    storage = RowStorage.create(minimumCapacity: header.fixedWordCount + tailWords) { _ in header }
  }

  @inlinable package var entityIndex: UInt16 { pointers.header.pointee.entityIndex }
  @inlinable package var slotCount: Int { Int(pointers.header.pointee.slotCount) }

  /// The version of the stored row that has these very values; 0 while they are in memory only.
  @inlinable package var version: Int64 {
    pointers.words.withMemoryRebound(to: Atomic<Int64>.self, capacity: 1) { $0.pointee.load(ordering: .acquiring) }
  }

  /// Notes that these values are in the store now, under that version; safe while other threads hold the row.
  package func stamp(version: Int64) {
    pointers.words.withMemoryRebound(to: Atomic<Int64>.self, capacity: 1) {
      $0.pointee.store(version, ordering: .releasing)
    }
  }

  /// The identity of the buffer, which it does not keep alive.
  @inlinable package var bufferID: ObjectIdentifier { ObjectIdentifier(storage) }

  /// True if both are one buffer.
  @inlinable package func isIdentical(to other: Row) -> Bool { storage === other.storage }

  /// Bytes of memory as its allocations take it, blobs in memory included.
  package var byteCount: Int {
    let header = pointers.header.pointee
    let ownBytes = MemoryLayout<RowHeader>.size + header.fixedWordCount * 8 + Int(header.tailCapacity)
    var bytes = Allocation.byteCount(ownBytes)
    if header.blobs.isEmpty { return bytes }
    bytes += Allocation.byteCount(ofElements: header.blobs.capacity * MemoryLayout<Blob>.stride)
    for blob in header.blobs { bytes += blob.residentByteCount }
    return bytes
  }
}

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

extension Row {
  @inlinable package mutating func setNull(_ slot: Int) {
    makeUnique(tailSpace: 0)
    pointers.check(slot)
    pointers.setNull(slot, true)
  }

  @inlinable package mutating func setInteger(_ value: Int64, _ slot: Int) { setWord(UInt64(bitPattern: value), slot) }

  @inlinable package mutating func setReal(_ value: Double, _ slot: Int) { setWord(value.bitPattern, slot) }

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

  @inlinable
  @inline(__always)
  mutating func setWord(_ word: UInt64, _ slot: Int) {
    makeUnique(tailSpace: 0)
    let pointers = pointers
    pointers.check(slot)
    pointers.slots[slot] = word
    pointers.setNull(slot, false)
  }

  /// Makes sure that nobody else holds the buffer and that its tail has room; its values are then new ones.
  @inlinable
  @inline(__always)
  mutating func makeUnique(tailSpace: Int) {
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
  package var unversioned: Row { copy(tailSpace: 0) }

  /// A copy under version 0, without the bytes that were overwritten.
  @usableFromInline func copy(tailSpace: Int) -> Row {
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
