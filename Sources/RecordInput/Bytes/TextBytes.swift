/// A text without the Ctrl-Z that programs of DOS put at the end of it.
final class TextBytes: ByteStream {
  static let endMark: UInt8 = 0x1A

  private let source: any ByteStream
  /// A byte that was read and not handed out: the last one is none of the text, if it is the mark.
  private var held: UInt8?

  init(_ source: any ByteStream) { self.source = source }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws(InputError) -> Int {
    var count: Int
    if let held {
      if buffer.count == 1 { return try exchange(held, buffer) }
      count = try source.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[1...]))
      if count == 0, held == Self.endMark { return 0 }
      buffer[0] = held
      self.held = nil
      count += 1
    } else {
      count = try source.read(into: buffer)
    }
    guard count > 0, buffer[count - 1] == Self.endMark else { return count }
    held = Self.endMark
    // None at all would mean the end.
    return count > 1 ? count - 1 : try read(into: buffer)
  }

  /// Hands out what is held, and holds the byte behind it.
  private func exchange(_ byte: UInt8, _ buffer: UnsafeMutableRawBufferPointer) throws(InputError) -> Int {
    let count = try source.read(into: buffer)
    if count == 0, byte == Self.endMark { return 0 }
    held = count == 0 ? nil : buffer[0]
    buffer[0] = byte
    return 1
  }
}
