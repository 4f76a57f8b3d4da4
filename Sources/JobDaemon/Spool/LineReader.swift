import SystemSupport

/// Reads a file line by line, in the memory of its longest line.
struct LineReader: ~Copyable {
  /// A line, without its end.
  enum Line {
    case text(ArraySlice<UInt8>)
    /// It has more bytes than it may; they are left out.
    case tooLong
  }

  private static let pieceSize = 256 << 10

  private let file: FileDescriptor
  /// The most bytes of a line.
  private let limit: Int
  /// Bytes that were read; those behind `start` are of lines to come.
  private var bytes: [UInt8] = []
  private var start = 0
  /// The bytes of the last piece.
  private var lastCount = 0
  private var isAtEnd = false

  init(_ file: consuming FileDescriptor, limit: Int) {
    self.file = file
    self.limit = limit
  }

  /// Returns the next line; nil at the end.
  mutating func next() throws(SystemError) -> Line? {
    var searched = start
    var isTooLong = false
    while true {
      if let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        let line = bytes[start..<end]
        start = end + 1
        return isTooLong || line.count > limit ? .tooLong : .text(line)
      }
      if isAtEnd {
        if start == bytes.count && !isTooLong { return nil }
        let line = bytes[start...]
        start = bytes.count
        return isTooLong || line.count > limit ? .tooLong : .text(line)
      }
      if bytes.count - start > limit {
        isTooLong = true
        start = bytes.count
      }
      try readMore()
      searched = isTooLong ? 0 : bytes.count - lastCount
    }
  }

  private mutating func readMore() throws(SystemError) {
    bytes.removeFirst(start)
    start = 0
    let filled = bytes.count
    bytes.append(contentsOf: repeatElement(0, count: Self.pieceSize))
    let outcome = bytes.withUnsafeMutableBytes { buffer in
      Result { () throws(SystemError) -> Int in
        try file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
      }
    }
    lastCount = try outcome.get()
    bytes.removeLast(Self.pieceSize - lastCount)
    isAtEnd = lastCount == 0
  }
}
