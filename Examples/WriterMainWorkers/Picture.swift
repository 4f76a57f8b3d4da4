import Foundation

/// A picture in shades of grey, and its encoding: the slow work of this example.
struct Picture {
  let width: Int
  let height: Int

  /// The picture as a PNG file, as the PNG specification (third edition) has it.
  ///
  /// Its pixels are stored without compression, which every decoder reads: a compressor would not make the example
  /// any clearer.
  func png() -> Data {
    var header = bigEndian(width) + bigEndian(height)
    // Eight bits per pixel, grey, and the only methods that there are.
    header += [8, 0, 0, 0, 0]
    let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    return Data(signature + chunk("IHDR", header) + chunk("IDAT", zlibStream(of: rows())) + chunk("IEND", []))
  }

  /// The rows, each behind the number of its filter: none.
  private func rows() -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity((width + 1) * height)
    for y in 0..<height {
      bytes.append(0)
      for x in 0..<width { bytes.append(UInt8(truncatingIfNeeded: x ^ y)) }
    }
    return bytes
  }

  private func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
    let body = Array(type.utf8) + content
    return bigEndian(content.count) + body + bigEndian(Int(Self.crc32(body)))
  }

  /// Stored blocks of at most 65,535 bytes, as RFC 1951 has them, in the frame of RFC 1950.
  private func zlibStream(of bytes: [UInt8]) -> [UInt8] {
    var stream: [UInt8] = [0x78, 0x01]
    var start = 0
    while start < bytes.count {
      let block = bytes[start..<min(start + 65_535, bytes.count)]
      start = block.endIndex
      let count = UInt16(block.count)
      stream.append(start == bytes.count ? 1 : 0)
      for number in [count, ~count] { stream += [UInt8(truncatingIfNeeded: number), UInt8(number >> 8)] }
      stream += block
    }
    return stream + bigEndian(Int(Self.adler32(bytes)))
  }

  private func bigEndian(_ number: Int) -> [UInt8] {
    stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
  }

  private static let crcTable: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { sum, _ in sum & 1 == 1 ? 0xEDB8_8320 ^ (sum >> 1) : sum >> 1 }
  }

  private static func crc32(_ bytes: [UInt8]) -> UInt32 {
    let table = crcTable
    var sum = UInt32.max
    for byte in bytes { sum = table[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] ^ (sum >> 8) }
    return ~sum
  }

  private static func adler32(_ bytes: [UInt8]) -> UInt32 {
    var (low, high) = (UInt32(1), UInt32(0))
    for byte in bytes {
      low = (low + UInt32(byte)) % 65_521
      high = (high + low) % 65_521
    }
    return high << 16 | low
  }
}
