/// Bytes in the order of an input, from a file or made of another stream's.
protocol ByteStream: AnyObject {
  /// Writes the next bytes to the front of `buffer`, which is not empty, and returns their number; 0 at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(InputError) -> Int
}

extension ByteStream {
  /// Reads until `buffer` is full or the end comes.
  func readFully(into buffer: UnsafeMutableRawBufferPointer) throws(InputError) -> Int {
    var filled = 0
    while filled < buffer.count {
      let count = try read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
      if count == 0 { break }
      filled += count
    }
    return filled
  }

  /// Passes over so many bytes.
  func skip(_ count: Int) throws(InputError) {
    let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: min(count, 1 << 18) + 1, alignment: 16)
    defer { scratch.deallocate() }
    var left = count
    while left > 0 {
      let read = try read(into: UnsafeMutableRawBufferPointer(rebasing: scratch[..<min(left, scratch.count)]))
      if read == 0 { throw InputError("it ends before the place to go on from; it was made shorter") }
      left -= read
    }
  }
}
