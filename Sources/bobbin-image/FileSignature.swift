internal import Glibc
internal import ImageProtocol

/// The first bytes of a file, used only to tell people what a refused file seems to be.
struct FileSignature {
  private let bytes: [UInt8]

  init(of descriptor: Int32) {
    bytes = Array(
      unsafeUninitializedCapacity: 16
    ) { buffer, count in
      count = max(0, pread(descriptor, buffer.baseAddress, buffer.count, 0))
    }
  }

  /// The format these bytes announce, or nil.
  var format: ImageFormat? {
    if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return .jpeg }
    if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A]) { return .png }
    if bytes.starts(with: Array("RIFF".utf8)), bytes.dropFirst(8).starts(with: Array("WEBP".utf8)) { return .webp }
    if bytes.starts(with: Array("GIF8".utf8)) { return .gif }
    if bytes.starts(with: [0x49, 0x49, 0x2A, 0]) || bytes.starts(with: [0x4D, 0x4D, 0, 0x2A]) { return .tiff }
    let brand = bytes.dropFirst(8).prefix(4)
    let isISOMedia = bytes.dropFirst(4).starts(with: Array("ftyp".utf8))
    let brands = ["heic", "heix", "hevc", "mif1", "msf1", "avif", "avis"]
    return isISOMedia && brands.contains(where: { brand.elementsEqual($0.utf8) }) ? .heif : nil
  }
}
