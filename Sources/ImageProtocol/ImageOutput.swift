/// One picture to be made from the input: its format, its size and how well it is encoded.
package struct ImageOutput: Codable, Sendable, Equatable {
  /// The longest side, in pixels, that a box may have.
  package static let longestSide = 1_000_000

  /// The format written.
  package var format: ImageFormat
  /// The width of the box in pixels, nil to follow the height, or the input if that is nil too.
  package var width: Int?
  /// The height of the box in pixels, nil to follow the width, or the input if that is nil too.
  package var height: Int?
  /// The way the picture is fitted to the box; all but `inside` need both width and height.
  package var fit: ImageFit
  /// The part that stays where `cover` cuts.
  package var crop: ImageCrop?
  /// The colour around the picture where `pad` adds, and behind it where it is transparent.
  package var background: ImageColour?
  /// True if a picture smaller than the box is enlarged; otherwise each side ends at the input's own.
  package var enlarge: Bool
  /// The quality of a lossy encoder, 1...100; nil for the format's default.
  package var quality: Int?
  /// The effort of the encoder, 1...10; nil for the format's default.
  package var effort: Int?
  /// True if the picture appears in passes while it is loaded.
  package var isProgressive: Bool
  /// True if nothing of the picture's pixels may be lost.
  package var isLossless: Bool
  /// The compression level of PNG, 0...9; nil for the encoder's default.
  package var compression: Int?
  /// True if a PNG has a palette of at most 256 colours.
  package var hasPalette: Bool
  /// The largest file in bytes: the quality is lowered until it fits.
  package var maxBytes: Int?
  /// The metadata to keep; the orientation is never kept where it has been applied.
  package var metadata: [ImageMetadata]
  /// True if the colours stay those of the input's profile, which is then kept, instead of becoming sRGB.
  package var keepsColours: Bool
  /// True if all frames of a moving picture are taken instead of the first.
  package var isAnimated: Bool
  /// The number of files that get it, at least one: the descriptors that travel with the request for this output.
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

/// The effect of options, together with the format and its defaults.
extension ImageOutput {
  /// The quality for the format's encoder, stated or default.
  package var chosenQuality: Int {
    if let quality { return quality }
    return switch format {
    case .avif, .heif: 50
    case .png: 100
    default: 80
    }
  }

  /// True if the encoder may lose something; TIFF only does so if a quality or a size is asked for.
  package var isLossy: Bool { takesQuality && (format != .tiff || quality != nil || maxBytes != nil) }

  /// True if the format, so encoded, has no room for transparency.
  package var isAlwaysOpaque: Bool { format == .jpeg || format == .tiff && isLossy }

  /// The same for all outputs that ask for the same picture, whether they state a default or leave it out.
  ///
  /// Options that depend on the input, such as `isAnimated`, stay as they were asked for, and so does the effort, whose
  /// default is the encoder's business.
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

extension ImageOutput {
  /// True if there is a quality to choose, and so a size to search for.
  package var takesQuality: Bool {
    switch format {
    case .jpeg: true
    case .webp, .avif, .heif, .tiff: !isLossless
    case .png: hasPalette
    default: false
    }
  }

  private var takesEffort: Bool {
    switch format {
    case .webp, .avif, .gif: true
    case .png: hasPalette
    default: false
    }
  }

  /// The problem with this output whatever the input, or nil.
  var problem: String? { sizeProblem ?? encodingProblem ?? (fileCount < 1 ? "it has no file" : nil) }

  private var sizeProblem: String? {
    for (key, side) in [("width", width), ("height", height)] {
      if let side, !(1...Self.longestSide).contains(side) {
        return "\(key) is \(side); it must lie between 1 and \(Self.longestSide)"
      }
    }
    if fit != .inside && (width == nil || height == nil) {
      return "fit \"\(fit.rawValue)\" needs both width and height"
    }
    if crop != nil && fit != .cover { return "crop has a meaning with fit \"cover\" only; leave it out" }
    if isAnimated && crop ?? .centre != .centre {
      return "crop of a moving picture can be \"centre\" only, or its frames would jump"
    }
    return nil
  }

  private var encodingProblem: String? {
    guard format.longestWritableSide != nil else {
      let known = ImageFormat.writable.map(\.rawValue).joined(separator: ", ")
      return "format \"\(format.rawValue)\" can't be written; use one of \(known)"
    }
    let name = format.displayName
    for (key, value, range) in [
      ("quality", quality, 1...100), ("effort", effort, 1...10), ("compression", compression, 0...9),
      ("maxBytes", maxBytes, 1...Int.max),
    ] {
      guard let value, !range.contains(value) else { continue }
      return "\(key) is \(value); it must lie between \(range.lowerBound) and \(range.upperBound)"
    }
    if isLossless && [.jpeg, .gif].contains(format) { return "\(name) is never lossless; leave it out" }
    if isLossless && hasPalette { return "a palette is not lossless; leave one of them out" }
    if hasPalette && format != .png { return "palette has a meaning for PNG only; leave it out" }
    if quality != nil && !takesQuality { return meaningless("quality", format == .png ? " without a palette" : "") }
    if maxBytes != nil && !takesQuality { return "\(meaningless("maxBytes")), as there is no quality to lower" }
    if effort != nil && !takesEffort { return meaningless("effort", format == .png ? " without a palette" : "") }
    if compression != nil && format != .png { return "compression has a meaning for PNG only; leave it out" }
    if isProgressive && ![.jpeg, .png, .gif].contains(format) { return meaningless("progressive") }
    if metadata.contains(.copyright) && [.tiff, .gif].contains(format) {
      return "\(name) pictures get no EXIF data, which could hold a copyright; leave it out"
    }
    if let background, !background.isOpaque, isAlwaysOpaque {
      let what = name + (format == .tiff ? " with a quality" : "")
      return "\(what) is always opaque, and background is \(background.text); use an opaque colour"
    }
    if isAnimated && !format.canMove { return "\(name) pictures don't move; animated ones can be GIF or WebP" }
    return nil
  }

  private func meaningless(_ key: String, _ condition: String = "") -> String {
    "\(key) has no meaning for \(isLossless ? "lossless " : "")\(format.displayName)\(condition); leave it out"
  }
}

/// The way a picture is fitted to a width and a height of another shape.
package enum ImageFit: String, Codable, Sendable, CaseIterable {
  /// The whole picture, as large as fits within the box.
  case inside
  /// The whole box, with what is beyond it cut off.
  case cover
  /// Exactly the box, distorting the picture where the shapes differ.
  case fill
  /// The whole picture in the middle of the box, the rest of which has the background's colour.
  case pad
}

/// The part of a picture that stays when it is cut to cover a box.
package enum ImageCrop: String, Codable, Sendable, CaseIterable {
  case centre
  /// The part that people would look at: skin, bright colours, detail.
  case attention
  /// The part with the most detail.
  case entropy
}

/// A part of a picture's metadata that an output keeps.
package enum ImageMetadata: String, Codable, Sendable, CaseIterable {
  /// All of it.
  case all
  /// The colour profile.
  case icc
  /// Artist and copyright notice of the EXIF data.
  case copyright
}

/// A colour of sRGB with its opacity, as in style sheets.
package struct ImageColour: Codable, Sendable, Equatable {
  package var red: UInt8
  package var green: UInt8
  package var blue: UInt8
  package var alpha: UInt8

  package static let white = ImageColour(red: 255, green: 255, blue: 255)

  package init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
    self.red = red
    self.green = green
    self.blue = blue
    self.alpha = alpha
  }

  /// Reads `#rrggbb`, `#rrggbbaa`, `white`, `black` or `transparent`; nil for anything else.
  package init?(_ text: String) {
    switch text {
    case "white": self = .white
    case "black": self.init(red: 0, green: 0, blue: 0)
    case "transparent": self.init(red: 255, green: 255, blue: 255, alpha: 0)
    default:
      let digits = text.utf8.dropFirst()
      guard text.utf8.first == UInt8(ascii: "#"), digits.count == 6 || digits.count == 8,
        digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
        let number = UInt32(text.dropFirst(), radix: 16)
      else { return nil }
      let value = digits.count == 6 ? number << 8 | 0xFF : number
      let part = { (shift: UInt32) in UInt8(truncatingIfNeeded: value >> shift) }
      self.init(red: part(24), green: part(16), blue: part(8), alpha: part(0))
    }
  }

  package var isOpaque: Bool { alpha == 255 }

  /// `#rrggbb`, followed by the opacity if there is less than all of it.
  package var text: String {
    "#"
      + (isOpaque ? [red, green, blue] : [red, green, blue, alpha])
      .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
