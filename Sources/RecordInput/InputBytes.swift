import CLinux
import Glibc

/// A file whose bytes become text in UTF-8.
final class InputBytes {
  let file: FileBytes
  private let compression: Compression
  private let encoding: TextEncoding
  private let unpackedLimit: Int

  /// - Parameter unpackedLimit: bytes that a packed file may unpack to.
  init(_ file: FileBytes, _ compression: Compression, encoding: TextEncoding, unpackedLimit: Int) {
    self.unpackedLimit = unpackedLimit
    self.file = file
    self.compression = compression
    self.encoding = encoding
  }

  /// True if an offset of the text is one of the file.
  var isPlain: Bool { compression == .none && encoding == .utf8 }

  /// The text from an offset on; a stream given before must not be used any more.
  func stream(from offset: Int) throws(InputError) -> any ByteStream {
    file.offset = isPlain ? Int64(offset) : 0
    var stream = try Self.unpacked(file, compression)
    if compression != .none { stream = LimitedBytes(stream, limit: unpackedLimit) }
    if encoding != .utf8 { stream = try ConvertedBytes(stream, from: encoding) }
    stream = TextBytes(stream)
    if !isPlain, offset > 0 { try stream.skip(offset) }
    return stream
  }

  static func unpacked(_ stream: any ByteStream, _ compression: Compression) throws(InputError) -> any ByteStream {
    switch compression {
    case .none: stream
    case .gzip: try GzipBytes(stream)
    case .zstd: try ZstdBytes(stream)
    }
  }
}

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

  /// Hands out the held byte, and holds the byte after it.
  private func exchange(_ byte: UInt8, _ buffer: UnsafeMutableRawBufferPointer) throws(InputError) -> Int {
    let count = try source.read(into: buffer)
    if count == 0, byte == Self.endMark { return 0 }
    held = count == 0 ? nil : buffer[0]
    buffer[0] = byte
    return 1
  }
}

/// Text in UTF-8, made of text in another encoding by iconv.
///
/// Bytes that are not text in that encoding become a byte that never occurs in UTF-8: only the record that contains it
/// is rejected.
final class ConvertedBytes: ByteStream {
  static let mark: UInt8 = 0xFF

  private let source: any ByteStream
  private let converter: iconv_t
  private let unitSize: Int
  private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
  private var next = 0
  private var end = 0
  private var inputHasEnded = false
  private var hasEnded = false
  /// Output for which a caller's memory was too small.
  private var small: [UInt8] = []

  init(_ source: any ByteStream, from encoding: TextEncoding) throws(InputError) {
    guard let converter = iconv_open("utf-8", encoding.name), converter != TextEncoding.failure else {
      throw InputError("iconv can't read \(encoding)")
    }
    self.source = source
    self.converter = converter
    unitSize = encoding.unitSize
  }

  deinit {
    iconv_close(converter)
    memory.deallocate()
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws(InputError) -> Int {
    // A character of any encoding fits into this, so that every call gets on.
    guard buffer.count >= 32, small.isEmpty else { return try readSmall(into: buffer) }
    var output = UnsafeMutablePointer<CChar>?(buffer.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: CChar.self))
    var space = buffer.count
    while space == buffer.count, !hasEnded {
      if !inputHasEnded, end - next < 64 { try fill() }
      convert(&output, &space)
    }
    return buffer.count - space
  }

  private func convert(_ output: inout UnsafeMutablePointer<CChar>?, _ space: inout Int) {
    guard end > next else {
      if inputHasEnded {
        hasEnded = true
        // Encodings with a state may have something to say at the end.
        _ = iconv(converter, nil, nil, &output, &space)
      }
      return
    }
    var input = UnsafeMutablePointer<CChar>?(
      memory.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: CChar.self) + next)
    var left = end - next
    let result = iconv(converter, &input, &left, &output, &space)
    let problem = errno
    next = end - left
    guard result == -1 else { return }
    let isIncomplete = problem == EINVAL && inputHasEnded
    guard problem == EILSEQ || isIncomplete, space > 0, let place = output else { return }
    place.pointee = CChar(bitPattern: Self.mark)
    output = place + 1
    space -= 1
    next = isIncomplete ? end : min(next + unitSize, end)
  }

  private func fill() throws(InputError) {
    memory.copyBytes(from: UnsafeRawBufferPointer(rebasing: memory[next..<end]))
    end -= next
    next = 0
    let count = try source.read(into: UnsafeMutableRawBufferPointer(rebasing: memory[end...]))
    end += count
    inputHasEnded = count == 0
  }

  /// Reads through memory of our own, when a caller's is too small for one character; and what is left of that.
  private func readSmall(into buffer: UnsafeMutableRawBufferPointer) throws(InputError) -> Int {
    if small.isEmpty {
      var text = [UInt8](repeating: 0, count: 32)
      let outcome = text.withUnsafeMutableBytes { memory in
        Result { () throws(InputError) -> Int in try read(into: memory) }
      }
      small = Array(text.prefix(try outcome.get()))
    }
    let count = min(small.count, buffer.count)
    buffer.copyBytes(from: small[..<count])
    small.removeFirst(count)
    return count
  }
}
