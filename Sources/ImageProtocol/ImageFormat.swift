/// A picture format that the helper can be allowed to read, or asked to write.
package enum ImageFormat: String, Codable, Sendable, CaseIterable {
  case jpeg, png, webp, avif, heif, tiff, gif
  /// Read only, and only if the configuration says so: their decoders are not made for hostile files.
  case svg, pdf, jp2, jxl, ppm

  /// The formats read unless the configuration says otherwise: those whose decoders libvips trusts.
  package static let allowedByDefault: [ImageFormat] = [.jpeg, .png, .webp, .avif, .heif, .tiff, .gif]
  /// The formats that outputs may have.
  package static let writable = allCases.filter { $0.longestWritableSide != nil }

  /// The longest side, in pixels, that the format's files can have, or nil if the helper doesn't write it.
  package var longestWritableSide: Int? {
    switch self {
    case .jpeg: 65_500
    case .png, .tiff: 1_000_000  // The encoders' own limit; the file formats end at 2^31 - 1.
    case .webp: 16_383
    case .avif, .heif: 16_384
    case .gif: 65_535
    case .svg, .pdf, .jp2, .jxl, .ppm: nil
    }
  }

  /// True if its files can have moving pictures that the helper reads and writes.
  package var canMove: Bool { self == .gif || self == .webp }

  /// The name people know the format by.
  package var displayName: String {
    switch self {
    case .jpeg: "JPEG"
    case .png: "PNG"
    case .webp: "WebP"
    case .avif: "AVIF"
    case .heif: "HEIF"
    case .tiff: "TIFF"
    case .gif: "GIF"
    case .svg: "SVG"
    case .pdf: "PDF"
    case .jp2: "JPEG 2000"
    case .jxl: "JPEG XL"
    case .ppm: "PPM"
    }
  }

  /// The name with its article, as it is spoken.
  package var displayNameWithArticle: String { (self == .avif || self == .svg ? "an " : "a ") + displayName }

  /// The usual endings of its files' names, the most usual one first.
  package var nameEndings: [String] {
    switch self {
    case .jpeg: ["jpg", "jpeg"]
    case .heif: ["heic", "heif"]
    case .tiff: ["tif", "tiff"]
    default: [rawValue]
    }
  }
}
