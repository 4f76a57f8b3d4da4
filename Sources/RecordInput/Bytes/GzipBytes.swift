import CZlib

/// The unpacked bytes of a gzip file, which may have several members (RFC 1952).
///
/// Never more is unpacked than asked for, so that a small file that unpacks to a huge one costs time, not memory.
final class GzipBytes: ByteStream {
  private let block: CompressedBlock
  /// On the heap, because zlib keeps its address.
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  private var isInMember = false
  private var hasEnded = false

  init(_ source: any ByteStream) throws(InputError) {
    block = CompressedBlock(source)
    stream.initialize(to: z_stream())
    // 16 means gzip with the largest window.
    let result = inflateInit2_(stream, 16 + MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    guard result == Z_OK else { throw InputError("zlib can't be used: \(Self.text(result))", isLasting: false) }
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws(InputError) -> Int {
    stream.pointee.next_out = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
    let size = UInt32(clamping: buffer.count)
    stream.pointee.avail_out = size
    while stream.pointee.avail_out == size, !hasEnded {
      let input = try block.bytes()
      if input.isEmpty {
        if isInMember { throw InputError("the gzip file ends too early, after \(block.offset) bytes; it was cut off") }
        hasEnded = true
        break
      }
      if !isInMember {
        // Some programs pad the end with zeros.
        if input[0] == 0, block.offset > 0 {
          block.consume(1)
          continue
        }
        isInMember = true
      }
      try inflateOnce(input)
    }
    return Int(size - stream.pointee.avail_out)
  }

  private func inflateOnce(_ input: UnsafeMutableRawBufferPointer) throws(InputError) {
    stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
    stream.pointee.avail_in = UInt32(input.count)
    let result = inflate(stream, Z_NO_FLUSH)
    block.consume(input.count - Int(stream.pointee.avail_in))
    switch result {
    case Z_OK, Z_BUF_ERROR: break
    case Z_STREAM_END:
      // Another member may follow.
      isInMember = false
      inflateReset(stream)
    case Z_MEM_ERROR: throw InputError("there is no memory to unpack gzip", isLasting: false)
    default:
      throw InputError("the gzip file is damaged near byte \(block.offset): \(message ?? Self.text(result))")
    }
  }

  private var message: String? { stream.pointee.msg.map { String(cString: $0) } }

  private static func text(_ result: Int32) -> String { zError(result).map { String(cString: $0) } ?? "\(result)" }
}
