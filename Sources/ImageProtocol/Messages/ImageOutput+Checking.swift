extension ImageOutput {
  /// Whether there is a quality to choose, and so a size to search for.
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

  /// What is wrong with this output whatever the input, or nil.
  var problem: String? { sizeProblem ?? encodingProblem ?? (fileCount < 1 ? "it has no file" : nil) }

  private var sizeProblem: String? {
    for (key, side) in [("width", width), ("height", height)] {
      if let side, !(1...ImageRequest.longestSide).contains(side) {
        return "\(key) is \(side); it must lie between 1 and \(ImageRequest.longestSide)"
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
