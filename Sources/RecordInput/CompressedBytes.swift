import CZlib
import CZstd

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

/// The unpacked bytes of a Zstandard file, which may have several frames (RFC 8878).
///
/// The library refuses windows of more than 128 MiB, so that memory is bounded whatever the file says.
final class ZstdBytes: ByteStream {
  private let block: CompressedBlock
  private let stream: OpaquePointer
  /// True if a frame, or the output of one, is unfinished.
  private var isInFrame = false
  private var hasEnded = false

  init(_ source: any ByteStream) throws(InputError) {
    block = CompressedBlock(source)
    guard let stream = ZSTD_createDStream() else {
      throw InputError("there is no memory to unpack zstd", isLasting: false)
    }
    self.stream = stream
  }

  deinit { ZSTD_freeDStream(stream) }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws(InputError) -> Int {
    var output = ZSTD_outBuffer(dst: buffer.baseAddress, size: buffer.count, pos: 0)
    while output.pos == 0, !hasEnded {
      let bytes = try block.bytes()
      if bytes.isEmpty, !isInFrame {
        hasEnded = true
        break
      }
      var input = ZSTD_inBuffer(src: bytes.baseAddress, size: bytes.count, pos: 0)
      let result = ZSTD_decompressStream(stream, &output, &input)
      block.consume(input.pos)
      if ZSTD_isError(result) != 0 {
        let name = String(cString: ZSTD_getErrorName(result))
        throw InputError("the zstd file is damaged near byte \(block.offset): \(name)")
      }
      isInFrame = result != 0
      if bytes.isEmpty, output.pos == 0, isInFrame {
        throw InputError("the zstd file ends too early, after \(block.offset) bytes; it was cut off")
      }
    }
    return output.pos
  }
}

/// The bytes of a compressed stream that were read and not yet unpacked.
final class CompressedBlock {
  private let source: any ByteStream
  private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
  private var next = 0
  private var end = 0
  /// Offset in the compressed file.
  private(set) var offset = 0

  init(_ source: any ByteStream) { self.source = source }

  deinit { memory.deallocate() }

  /// Returns the unread bytes, after reading more if there are none; empty at the end.
  func bytes() throws(InputError) -> UnsafeMutableRawBufferPointer {
    if next == end {
      next = 0
      end = try source.read(into: memory)
    }
    return UnsafeMutableRawBufferPointer(rebasing: memory[next..<end])
  }

  func consume(_ count: Int) {
    next += count
    offset += count
  }
}
