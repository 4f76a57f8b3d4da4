/// A file, and how its bytes become text in UTF-8.
final class InputBytes {
  let file: FileBytes
  private let compression: Compression
  private let encoding: TextEncoding
  private let unpackedLimit: Int

  /// - Parameter unpackedLimit: bytes that a packed file may unpack to.
  init(_ file: FileBytes, _ compression: Compression, _ encoding: TextEncoding, unpackedLimit: Int) {
    self.unpackedLimit = unpackedLimit
    self.file = file
    self.compression = compression
    self.encoding = encoding
  }

  /// Whether an offset of the text is one of the file.
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
