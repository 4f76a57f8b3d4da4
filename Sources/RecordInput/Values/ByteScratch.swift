/// A few bytes that are used again for each field.
package final class ByteScratch {
  private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 1)
  private var count = 0

  package init() {}

  deinit { memory.deallocate() }

  package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

  package func removeAll() { count = 0 }

  package func append(_ byte: UInt8) {
    if count == memory.count {
      let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: count * 2, alignment: 1)
      larger.copyMemory(from: UnsafeRawBufferPointer(memory))
      memory.deallocate()
      memory = larger
    }
    memory[count] = byte
    count += 1
  }

  package func set(_ text: StaticString) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }
}
