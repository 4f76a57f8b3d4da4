internal import ImageProtocol

extension ImageOutput {
  /// What the format's encoder is told.
  ///
  /// - Parameter quality: 1...100; ignored by encoders that take none.
  func saverOptions(quality: Int) -> [(name: String, value: String)] {
    var options: [(String, String)] = []
    if isLossy { options.append(("Q", String(quality))) }
    switch format {
    case .jpeg:
      options += [("optimize-coding", "true"), ("interlace", String(isProgressive))]
    case .png:
      options += [("interlace", String(isProgressive)), ("palette", String(hasPalette))]
      if let compression { options.append(("compression", String(compression))) }
      if let effort { options.append(("effort", String(effort))) }
    case .webp:
      options.append(("lossless", String(isLossless)))
      if let effort { options.append(("effort", String((effort - 1) * 6 / 9))) }
    case .avif, .heif:
      options += [("compression", format == .avif ? "av1" : "hevc"), ("bitdepth", "8")]
      if isLossless { options += [("lossless", "true"), ("subsample-mode", "off")] }
      if let effort { options.append(("effort", String(effort - 1))) }
    case .tiff:
      options += [("compression", isLossy ? "jpeg" : "deflate"), ("predictor", "horizontal")]
    case .gif:
      options.append(("interlace", String(isProgressive)))
      if let effort { options.append(("effort", String(effort))) }
    case .svg, .pdf, .jp2, .jxl, .ppm:
      break
    }
    return options
  }
}
