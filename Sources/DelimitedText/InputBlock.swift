/// The bytes that a reader is at: what was filled last, and what it has not done with.
struct InputBlock: ~Copyable {
  private let size: Int
  /// `capacity` bytes, and a scanning block of zeros beyond them so that every block can be read whole.
  private(set) var bytes: UnsafeMutablePointer<UInt8>
  private var capacity: Int
  /// Bytes filled so far.
  private(set) var end = 0
  private(set) var hasEnded = false
  /// The input's offset of `bytes[0]`.
  private(set) var offset: Int

  init(size: Int, offset: Int) {
    self.size = size
    self.offset = offset
    capacity = size + size / 16
    bytes = Self.allocate(capacity)
  }

  deinit { bytes.deallocate() }

  private static func allocate(_ capacity: Int) -> UnsafeMutablePointer<UInt8> {
    let size = capacity + SpecialByteCursor.blockSize
    let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: size)
    bytes.initialize(repeating: 0, count: size)
    return bytes
  }

  /// Makes the memory after `end` at least one block long; returns by how much the bytes that are kept have moved.
  mutating func makeRoom(keeping first: Int) -> Int {
    let kept = end - first
    if kept + size > capacity {
      // Twice what is needed, so that a long record is copied a few times only, however small the blocks are.
      let newCapacity = 2 * (kept + size)
      let larger = Self.allocate(newCapacity)
      larger.update(from: bytes + first, count: kept)
      bytes.deallocate()
      bytes = larger
      capacity = newCapacity
    } else if first > 0, end + size > capacity || kept == 0 {
      bytes.update(from: bytes + first, count: kept)
    } else {
      return 0
    }
    offset += first
    end -= first
    return first
  }

  /// Adds what `read` writes; see ``DelimitedReader/fill(_:)``.
  mutating func fill<Failure: Error>(
    _ read: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
  ) throws(Failure) {
    let count = try read(UnsafeMutableRawBufferPointer(start: bytes + end, count: size))
    precondition(count >= 0 && count <= size, "the number of bytes read is not within the memory given")
    end += count
    hasEnded = count == 0
  }

  /// Returns the index behind the byte order marks at a place; nil if more bytes must be known.
  ///
  /// One comes before a text, or before each of several concatenated ones.
  @inline(__always)
  func indexAfterMarks(from index: Int) -> Int? {
    var start = index
    while start < end, bytes[start] == 0xEF {
      let left = end - start
      guard left < 2 || bytes[start + 1] == 0xBB, left < 3 || bytes[start + 2] == 0xBF else { break }
      if left < 3 { return hasEnded ? start : nil }
      start += 3
    }
    return start
  }
}

/// A line of the input.
struct InputLine {
  var number: Int
  /// The offset in the input at which it begins.
  var offset: Int

  /// The 1-based byte of the line that lies at an offset in the input.
  func column(of byteOffset: Int) -> Int { byteOffset - offset + 1 }
}
