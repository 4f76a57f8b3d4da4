import CZstd

/// The unpacked bytes of a Zstandard file, which may have several frames (RFC 8878).
///
/// The library refuses windows of more than 128 MiB, so that memory is bounded whatever the file says.
final class ZstdBytes: ByteStream {
  private let block: CompressedBlock
  private let stream: OpaquePointer
  /// Whether a frame, or the output of one, is unfinished.
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
