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
}
