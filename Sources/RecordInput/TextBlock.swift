import Glibc

/// The part of a text that is in memory, from the record at hand on.
struct TextBlock: ~Copyable {
  private let stream: any ByteStream
  private let blockSize: Int
  private var capacity: Int
  private(set) var bytes: UnsafeMutablePointer<UInt8>
  private(set) var end = 0
  private(set) var hasEnded = false
  /// The text's offset of `bytes[0]`.
  private(set) var offset: Int

  init(_ stream: any ByteStream, blockSize: Int, offset: Int) {
    self.stream = stream
    self.blockSize = blockSize
    self.offset = offset
    capacity = blockSize + blockSize / 16 + 1
    bytes = .allocate(capacity: capacity)
  }

  deinit { bytes.deallocate() }

  /// Reads on, and moves what is from `keep` on to the front; all indices are `keep` smaller then.
  mutating func fill(keeping keep: Int) throws(InputError) {
    let kept = end - keep
    if kept + blockSize > capacity {
      capacity = 2 * (kept + blockSize)
      let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
      memcpy(larger, bytes + keep, kept)
      bytes.deallocate()
      bytes = larger
    } else {
      memmove(bytes, bytes + keep, kept)
    }
    offset += keep
    end = kept
    let count = try stream.read(into: UnsafeMutableRawBufferPointer(start: bytes + end, count: blockSize))
    end += count
    hasEnded = count == 0
  }
}
