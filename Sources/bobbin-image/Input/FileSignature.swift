internal import Glibc
internal import ImageProtocol

/// The first bytes of a file, which alone decide what decoder may look at it.
///
/// libvips would ask the decoders themselves, those that are blocked too, and that of SVG unpacks what it is shown.
struct FileSignature {
  private let bytes: [UInt8]

  init(of descriptor: Int32) {
    bytes = Array(
      unsafeUninitializedCapacity: Self.longest
    ) { buffer, count in
      count = max(0, pread(descriptor, buffer.baseAddress, buffer.count, 0))
    }
  }

  /// An SVG picture may begin with declarations and comments.
  private static let longest = 1000

  private static let starts: [(ImageFormat, [[UInt8]])] = [
    (.jpeg, [[0xFF, 0xD8]]), (.png, [[0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]]), (.gif, [Array("GIF8".utf8)]),
    // The last two have offsets of 64 bits.
    (.tiff, [[0x49, 0x49, 42, 0], [0x4D, 0x4D, 0, 42], [0x49, 0x49, 43, 0], [0x4D, 0x4D, 0, 43]]),
    (.pdf, [Array("%PDF-".utf8)]), (.jxl, [[0xFF, 0x0A], [0, 0, 0, 12, 0x4A, 0x58, 0x4C, 0x20]]),
    (.jp2, [[0, 0, 0, 12, 0x6A, 0x50, 0x20, 0x20], [0xFF, 0x4F, 0xFF, 0x51]]),
  ]
  private static let brands: [(ImageFormat, [String])] = [
    (.avif, ["avif", "avis"]),
    (.heif, ["heic", "heix", "hevc", "hevx", "heim", "heis", "hevm", "hevs", "mif1", "msf1"]),
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
    if isPortablePixmap { return .ppm }
    return String(decoding: bytes, as: UTF8.self).contains("<svg") ? .svg : nil
  }

  /// Whether it is an archive of gzip, as which SVG pictures are often kept.
  var isPacked: Bool { bytes.starts(with: [0x1F, 0x8B]) }

  private var isPortablePixmap: Bool {
    guard bytes.count > 2, bytes[0] == 0x50, [0x20, 0x09, 0x0A, 0x0D, 0x23].contains(bytes[2]) else { return false }
    // Those of floating point have letters.
    return (0x31...0x37).contains(bytes[1]) || bytes[1] | 0x20 == 0x66
  }
}
