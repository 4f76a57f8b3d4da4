import CZlib
import Glibc
import ImageProtocol

/// The texts and the profile of a PNG file, which are packed: some kilobytes can unpack to gigabytes.
///
/// Decoders unpack them whenever they read a header, each with a limit of its own or none. Chunks are those of the PNG
/// specification, https://www.w3.org/TR/png-3/#11Chunks.
struct PackedTexts {
  private let descriptor: Int32
  private let limit: Int
  /// The number of bytes unpacked so far.
  private var total = 0
  /// The offset of the next byte, and the block read around it.
  private var offset: off_t = 0
  private var blockStart: off_t = 0
  private var block: [UInt8] = []
  private var output = [UInt8](repeating: 0, count: 64 << 10)

  /// Throws for a PNG file whose texts and profile unpack to more than `limit` bytes; ignores other files.
  static func check(_ descriptor: Int32, limit: Int) throws(ImageError) {
    var texts = PackedTexts(descriptor: descriptor, limit: limit)
    try texts.check()
  }

  private init(descriptor: Int32, limit: Int) {
    self.descriptor = descriptor
    self.limit = limit
  }

  private mutating func check() throws(ImageError) {
    for byte in [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] as [UInt8] where next() != byte { return }
    // A file that breaks off or goes wrong is for the decoder to refuse.
    while let length = number(), let type = number() {
      let end = offset + off_t(length)
      switch type {
      case 0x7A54_5874, 0x6943_4350: try unpack(to: end) { $0.passName() && $0.next() == 0 }  // zTXt, iCCP
      case 0x6954_5874: try unpack(to: end) { $0.passHead(of: end) }  // iTXt
      case 0x4945_4E44: return  // IEND
      default: break
      }
      // Behind it is a checksum.
      offset = end + 4
    }
  }

  /// Counts what the rest of a chunk unpacks to.
  ///
  /// - Parameter pass: goes to where that begins; false if nothing is packed.
  private mutating func unpack(to end: off_t, behind pass: (inout PackedTexts) -> Bool) throws(ImageError) {
    guard pass(&self) else { return }
    var stream = z_stream()
    guard inflateInit_(&stream, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
      throw ImageError(.helperUnavailable, "zlib can't be used", permanent: false)
    }
    defer { inflateEnd(&stream) }
    var hasEnded = false
    while !hasEnded, offset < end, fill() {
      let start = Int(offset - blockStart)
      let count = min(block.count - start, Int(end - offset))
      hasEnded = Self.inflate(
        &stream, &block, part: start..<start + count, through: &output, total: &total, limit: limit)
      offset += off_t(count)
      if total > limit {
        throw ImageError(
          .tooLarge,
          "the texts and the profile in the input unpack to more than \(limit) bytes; "
            + "[Image] MaxTextSize allows no more", permanent: true)
      }
    }
  }

  /// Unpacks a part of a block, as long as the total is within the limit; true at the end or at invalid data.
  private static func inflate(
    _ stream: inout z_stream, _ block: inout [UInt8], part: Range<Int>, through output: inout [UInt8],
    total: inout Int, limit: Int
  ) -> Bool {
    block.withUnsafeMutableBufferPointer { block in
      output.withUnsafeMutableBufferPointer { output in
        stream.next_in = block.baseAddress.map { $0 + part.lowerBound }
        stream.avail_in = UInt32(part.count)
        while total <= limit {
          stream.next_out = output.baseAddress
          stream.avail_out = UInt32(output.count)
          let result = CZlib.inflate(&stream, Z_NO_FLUSH)
          total += output.count - Int(stream.avail_out)
          guard result == Z_OK else { return result != Z_BUF_ERROR }
          if stream.avail_in == 0, stream.avail_out > 0 { return false }
        }
        return true
      }
    }
  }

  // MARK: The head of a chunk

  /// Passes over a keyword of at most 79 bytes.
  private mutating func passName() -> Bool {
    for _ in 0...79 where next() == 0 { return true }
    return false
  }

  /// Passes over keyword, flag, method, language and translated keyword; false if the text is not packed.
  private mutating func passHead(of end: off_t) -> Bool {
    guard passName(), next() == 1, next() == 0 else { return false }
    for _ in 0..<2 {
      while offset < end, let byte = next(), byte != 0 {}
    }
    return offset < end
  }

  private mutating func number() -> UInt32? {
    var number: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = next() else { return nil }
      number = number << 8 | UInt32(byte)
    }
    return number
  }

  private mutating func next() -> UInt8? {
    guard fill() else { return nil }
    defer { offset += 1 }
    return block[Int(offset - blockStart)]
  }

  /// Has the byte at the present place in the block; false at the end of the file.
  private mutating func fill() -> Bool {
    if offset >= blockStart, offset < blockStart + off_t(block.count) { return true }
    blockStart = offset
    block = Array(unsafeUninitializedCapacity: 4 << 10) { buffer, count in
      count = max(0, pread(descriptor, buffer.baseAddress, buffer.count, offset))
    }
    return !block.isEmpty
  }
}
