/// One picture to be made from the input: its format, its size and how well it is encoded.
package struct ImageOutput: Codable, Sendable, Equatable {
  /// The format written.
  package var format: ImageFormat
  /// The width of the box in pixels, nil to follow the height, or the input if that is nil too.
  package var width: Int?
  /// The height of the box in pixels, nil to follow the width, or the input if that is nil too.
  package var height: Int?
  /// How the picture is fitted to the box; all but `inside` need both width and height.
  package var fit: ImageFit
  /// What stays where `cover` cuts.
  package var crop: ImageCrop?
  /// What is around the picture where `pad` adds, and behind it where it is transparent.
  package var background: ImageColour?
  /// Whether a picture smaller than the box is enlarged; otherwise each side ends at the input's own.
  package var enlarge: Bool
  /// How well a lossy encoder does, 1...100; nil for the format's default.
  package var quality: Int?
  /// How hard the encoder tries, 1...10; nil for the format's default.
  package var effort: Int?
  /// Whether the picture appears in passes while it is loaded.
  package var isProgressive: Bool
  /// Whether nothing of the picture's pixels may be lost.
  package var isLossless: Bool
  /// How hard PNG compresses, 0...9; nil for the encoder's default.
  package var compression: Int?
  /// Whether a PNG has a palette of at most 256 colours.
  package var hasPalette: Bool
  /// The largest file in bytes: the quality is lowered until it fits.
  package var maxBytes: Int?
  /// What is kept beside the pixels; the orientation never is where it has been applied.
  package var metadata: [ImageMetadata]
  /// Whether the colours stay those of the input's profile, which is then kept, instead of becoming sRGB.
  package var keepsColours: Bool
  /// Whether all frames of a moving picture are taken instead of the first.
  package var isAnimated: Bool
  /// How many files get it, at least one: the descriptors that travel with the request for this output.
  package var fileCount: Int

  package init(
    format: ImageFormat, width: Int? = nil, height: Int? = nil, fit: ImageFit = .inside, crop: ImageCrop? = nil,
    background: ImageColour? = nil, enlarge: Bool = false, quality: Int? = nil, effort: Int? = nil,
    isProgressive: Bool = false, isLossless: Bool = false, compression: Int? = nil, hasPalette: Bool = false,
    maxBytes: Int? = nil, metadata: [ImageMetadata] = [], keepsColours: Bool = false, isAnimated: Bool = false,
    fileCount: Int = 1
  ) {
    self.format = format
    self.width = width
    self.height = height
    self.fit = fit
    self.crop = crop
    self.background = background
    self.enlarge = enlarge
    self.quality = quality
    self.effort = effort
    self.isProgressive = isProgressive
    self.isLossless = isLossless
    self.compression = compression
    self.hasPalette = hasPalette
    self.maxBytes = maxBytes
    self.metadata = metadata
    self.keepsColours = keepsColours
    self.isAnimated = isAnimated
    self.fileCount = fileCount
  }
}
