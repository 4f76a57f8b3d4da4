/// One file to be made from the input: its format, its size and how well it is encoded.
package struct ImageOutput: Codable, Sendable, Equatable {
  /// The format written.
  package var format: ImageFormat
  /// The width of the box in pixels, nil to follow the height, or the input if that is nil too.
  package var width: Int?
  /// The height of the box in pixels, nil to follow the width, or the input if that is nil too.
  package var height: Int?
  /// How the picture is fitted to the box; `cover` and `fill` need both width and height.
  package var fit: ImageFit
  /// Whether a picture smaller than the box is enlarged; otherwise each side ends at the input's own.
  package var enlarge: Bool
  /// JPEG and WebP quality, 1...100, nil for the encoder's default; PNG is always lossless and takes none.
  package var quality: Int?
  /// Whether EXIF, XMP and the colour profile are kept; the orientation tag never is, since it has been applied.
  package var keepMetadata: Bool

  package init(
    format: ImageFormat, width: Int? = nil, height: Int? = nil, fit: ImageFit = .inside, enlarge: Bool = false,
    quality: Int? = nil, keepMetadata: Bool = false
  ) {
    self.format = format
    self.width = width
    self.height = height
    self.fit = fit
    self.enlarge = enlarge
    self.quality = quality
    self.keepMetadata = keepMetadata
  }
}
