/// A block of bytes that grows while a batch is built and is read only afterwards.
package final class ByteArena: @unchecked Sendable {
  // @unchecked: only its builder writes, before the batch that holds it is made.

  // Accesses are over before anybody else is called: there is nothing to look for at run time, for each text.
  @exclusivity(unchecked) private var memory: UnsafeMutableRawPointer
  @exclusivity(unchecked) private var capacity: Int
  @exclusivity(unchecked) package private(set) var count = 0

  package init(capacity: Int) {
    self.capacity = max(capacity, 64)
    memory = .allocate(byteCount: self.capacity, alignment: 16)
  }

  deinit { memory.deallocate() }

  /// Appends bytes; the arena stays below 4 GiB.
  @inline(__always)
  package func append(_ bytes: UnsafeRawBufferPointer) {
    let end = count + bytes.count
    if end > capacity { grow(to: end) }
    if let base = bytes.baseAddress { (memory + count).copyMemory(from: base, byteCount: bytes.count) }
    count = end
  }

  /// Takes back what was appended last.
  package func truncate(to count: Int) {
    precondition(count <= self.count, "an arena is truncated to less than it holds")
    self.count = count
  }

  /// The bytes of a range; valid while the arena is held.
  @inline(__always)
  package func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer {
    precondition(range.upperBound <= count, "the range lies outside the arena")
    return UnsafeRawBufferPointer(start: memory + range.lowerBound, count: range.count)
  }

  private func grow(to needed: Int) {
    precondition(needed <= Int(UInt32.max), "an arena holds less than 4 GiB")
    capacity = max(needed, capacity * 2)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    larger.copyMemory(from: memory, byteCount: count)
    memory.deallocate()
    memory = larger
  }
}
