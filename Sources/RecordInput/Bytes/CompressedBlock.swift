/// The bytes of a compressed stream that were read and not yet unpacked.
final class CompressedBlock {
  private let source: any ByteStream
  private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
  private var next = 0
  private var end = 0
  /// Offset in the compressed file.
  private(set) var offset = 0

  init(_ source: any ByteStream) { self.source = source }

  deinit { memory.deallocate() }

  /// What is there, after reading more if it was nothing; empty at the end.
  func bytes() throws(InputError) -> UnsafeMutableRawBufferPointer {
    if next == end {
      next = 0
      end = try source.read(into: memory)
    }
    return UnsafeMutableRawBufferPointer(rebasing: memory[next..<end])
  }

  func consume(_ count: Int) {
    next += count
    offset += count
  }
}
