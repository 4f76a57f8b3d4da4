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

  package var entityIndex: UInt16 { pointers.header.pointee.entityIndex }
  package var slotCount: Int { Int(pointers.header.pointee.slotCount) }

  /// The version of the stored row that has these very values; 0 while they are in memory only.
  package var version: Int64 {
    pointers.words.withMemoryRebound(to: Atomic<Int64>.self, capacity: 1) { $0.pointee.load(ordering: .acquiring) }
  }

  /// Notes that these values are in the store now, under that version; safe while other threads hold the row.
  package func stamp(version: Int64) {
    pointers.words.withMemoryRebound(to: Atomic<Int64>.self, capacity: 1) {
      $0.pointee.store(version, ordering: .releasing)
    }
  }

  /// Whether the two are one buffer.
  package func isIdentical(to other: Row) -> Bool { storage === other.storage }

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
