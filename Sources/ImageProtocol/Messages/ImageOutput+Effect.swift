/// What options come to, together with the format and with what is not said.
extension ImageOutput {
  /// The quality that the format's encoder is given, also if nobody asks for one.
  package var chosenQuality: Int {
    if let quality { return quality }
    return switch format {
    case .avif, .heif: 50
    case .png: 100
    default: 80
    }
  }

  /// Whether the encoder may lose something; TIFF only does so if a quality or a size is asked for.
  package var isLossy: Bool { takesQuality && (format != .tiff || quality != nil || maxBytes != nil) }

  /// Whether the format, so encoded, has no room for transparency.
  package var isAlwaysOpaque: Bool { format == .jpeg || format == .tiff && isLossy }

  /// The same for all outputs that ask for the same picture, whether they state a default or leave it out.
  ///
  /// What depends on the input, such as whether it moves, stays as it was asked for, and so does the effort, whose default
  /// is the encoder's business.
  package var normalized: ImageOutput {
    var output = self
    output.quality = isLossy ? chosenQuality : nil
    if format == .png { output.compression = compression ?? 6 }
    if [.png, .tiff].contains(format) { output.isLossless = false }
    output.crop = fit == .cover ? crop ?? .centre : nil
    if isAlwaysOpaque { output.background = background ?? .white }
    // Only padding shows a transparent one.
    if fit != .pad, let background, !background.isOpaque { output.background = nil }
    let kept = Set(metadata + (keepsColours ? [.icc] : []))
    output.metadata = kept.contains(.all) ? [.all] : ImageMetadata.allCases.filter(kept.contains)
    output.fileCount = 1
    return output
  }
}
