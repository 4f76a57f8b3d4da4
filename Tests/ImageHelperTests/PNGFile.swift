/// Small PNG files made by hand, for what no encoder would write.
enum PNGFile {
  /// A file whose header claims a size, followed by a few bytes of pixels.
  ///
  /// - Parameter colours: 2 for RGB, 3 for a palette, which the file lacks.
  static func claiming(width: UInt32, height: UInt32, colours: UInt8 = 2) -> [UInt8] {
    let header = bytes(width) + bytes(height) + [8, colours, 0, 0, 0]
    return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", header)
      + chunk("IDAT", [0x78, 0x9C, 0x03, 0, 0, 0, 0, 1]) + chunk("IEND", [])
  }

  /// A picture of one pixel with texts or a profile in it.
  static func holding(_ chunks: [(type: String, content: [UInt8])]) -> [UInt8] {
    let header = bytes(1) + bytes(1) + [8, 0, 0, 0, 0]
    let pixel: [UInt8] = [0x78, 0x9C, 0x63, 0x60, 0, 0, 0, 2, 0, 1]
    return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunk("IHDR", header)
      + chunks.flatMap { chunk($0.type, $0.content) } + chunk("IDAT", pixel) + chunk("IEND", [])
  }

  private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
    let body = Array(type.utf8) + content
    return bytes(UInt32(content.count)) + body + bytes(checksum(body))
  }

  private static func bytes(_ number: UInt32) -> [UInt8] {
    stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
  }

  /// CRC-32 as annex D of the PNG specification defines it.
  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(UInt32.max) { sum, byte in
      (0..<8).reduce(sum ^ UInt32(byte)) { sum, _ in sum & 1 == 1 ? 0xEDB8_8320 ^ (sum >> 1) : sum >> 1 }
    }
  }
}
