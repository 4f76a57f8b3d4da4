/// The bytes of another stream, which must not be more than so many: a small archive may unpack to anything.
final class LimitedBytes: ByteStream {
  private let source: any ByteStream
  private let limit: Int
  private var count = 0

  init(_ source: any ByteStream, limit: Int) {
    self.source = source
    self.limit = limit
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws(InputError) -> Int {
    let read = try source.read(into: buffer)
    count += read
    if count > limit {
      throw InputError("it unpacks to more than \(limit) bytes; [Import] MaxUnpackedSize allows no more")
    }
    return read
  }
}
