/// A picture format that the helper can be allowed to read, or asked to write.
package enum ImageFormat: String, Codable, Sendable, CaseIterable {
  case jpeg, png, webp, gif, tiff, heif

  /// The formats read unless a request says otherwise.
  package static let allowedByDefault: [ImageFormat] = [.jpeg, .png, .webp]

  /// The longest side, in pixels, that the format's files can state, or nil if the helper doesn't write it.
  package var longestWritableSide: Int? {
    switch self {
    case .jpeg: 65_535
    case .png: 1_000_000  // The encoder's own limit; the file format ends at 2^31 - 1.
    case .webp: 16_383
    case .gif, .tiff, .heif: nil
    }
  }

  /// The name people know the format by.
  package var displayName: String {
    switch self {
    case .jpeg: "JPEG"
    case .png: "PNG"
    case .webp: "WebP"
    case .gif: "GIF"
    case .tiff: "TIFF"
    case .heif: "HEIF"
    }
  }
}
