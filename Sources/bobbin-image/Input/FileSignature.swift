internal import Glibc
internal import ImageProtocol

/// The first bytes of a file, used only to tell people what a refused file seems to be.
struct FileSignature {
  private let bytes: [UInt8]

  init(of descriptor: Int32) {
    bytes = Array(
      unsafeUninitializedCapacity: 256
    ) { buffer, count in
      count = max(0, pread(descriptor, buffer.baseAddress, buffer.count, 0))
    }
  }

  private static let starts: [(ImageFormat, [[UInt8]])] = [
    (.jpeg, [[0xFF, 0xD8, 0xFF]]), (.png, [[0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A]]), (.gif, [Array("GIF8".utf8)]),
    (.tiff, [[0x49, 0x49, 0x2A, 0], [0x4D, 0x4D, 0, 0x2A]]), (.pdf, [Array("%PDF-".utf8)]),
    (.jxl, [[0xFF, 0x0A], [0, 0, 0, 12, 0x4A, 0x58, 0x4C, 0x20]]),
    (.jp2, [[0, 0, 0, 12, 0x6A, 0x50, 0x20, 0x20], [0xFF, 0x4F, 0xFF, 0x51]]),
    (.ppm, (1...7).map { Array("P\($0)\n".utf8) }),
  ]
  private static let brands: [(ImageFormat, [String])] = [
    (.avif, ["avif", "avis"]), (.heif, ["heic", "heix", "hevc", "mif1", "msf1"]),
  ]

  /// What is wrong with the size that a PNG says it has: decoders only say that something is.
  var impossibleSize: ImageError? {
    guard format == .png, bytes.count >= 24 else { return nil }
    let sides = [16, 20].map { start in bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) } }
    guard let least = sides.min(), let most = sides.max(), least < 1 || most > 1_000_000 else { return nil }
    return ImageError(
      .tooLarge, "the input claims \(sides[0]) x \(sides[1]) pixels; a side of a PNG has 1 to 1000000", permanent: true)
  }

  /// The format these bytes announce, or nil.
  var format: ImageFormat? {
    for (format, starts) in Self.starts where starts.contains(where: { bytes.starts(with: $0) }) { return format }
    if bytes.starts(with: Array("RIFF".utf8)), bytes.dropFirst(8).starts(with: Array("WEBP".utf8)) { return .webp }
    if bytes.dropFirst(4).starts(with: Array("ftyp".utf8)) {
      let brand = bytes.dropFirst(8).prefix(4)
      for (format, brands) in Self.brands where brands.contains(where: { brand.elementsEqual($0.utf8) }) {
        return format
      }
    }
    return String(decoding: bytes, as: UTF8.self).contains("<svg") ? .svg : nil
  }
}
