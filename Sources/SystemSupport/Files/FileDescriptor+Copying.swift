extension FileDescriptor {
  /// Appends all bytes from the beginning to another file, whatever this file's own position.
  package func copyFromStart(to other: borrowing FileDescriptor) throws(SystemError) {
    let blockSize = 1 << 18
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: blockSize, alignment: 16)
    defer { block.deallocate() }
    var offset: Int64 = 0
    while true {
      let count = try read(into: block, at: offset)
      if count == 0 { return }
      try other.writeAll(UnsafeRawBufferPointer(rebasing: block.prefix(count)))
      offset += Int64(count)
    }
  }
}
