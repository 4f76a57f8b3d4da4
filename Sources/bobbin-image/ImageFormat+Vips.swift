import ImageProtocol

extension ImageFormat {
  /// The one decoder class of the format that reads from a descriptor; AVIF and HEIF share theirs.
  var loaderClass: String {
    switch self {
    case .jpeg: "VipsForeignLoadJpegSource"
    case .png: "VipsForeignLoadPngSource"
    case .webp: "VipsForeignLoadWebpSource"
    case .avif, .heif: "VipsForeignLoadHeifSource"
    case .tiff: "VipsForeignLoadTiffSource"
    case .gif: "VipsForeignLoadNsgifSource"
    case .svg: "VipsForeignLoadSvgSource"
    case .pdf: "VipsForeignLoadPdfSource"
    case .jp2: "VipsForeignLoadJp2kSource"
    case .jxl: "VipsForeignLoadJxlSource"
    case .ppm: "VipsForeignLoadPpmSource"
    }
  }

  /// The encoder class of the format that writes to a target; nil if the helper doesn't write it.
  var saverClass: String? {
    switch self {
    case .jpeg: "VipsForeignSaveJpegTarget"
    case .png: "VipsForeignSavePngTarget"
    case .webp: "VipsForeignSaveWebpTarget"
    case .avif, .heif: "VipsForeignSaveHeifTarget"
    case .tiff: "VipsForeignSaveTiffTarget"
    case .gif: "VipsForeignSaveCgifTarget"
    case .svg, .pdf, .jp2, .jxl, .ppm: nil
    }
  }
}

extension ImageOutput {
  /// Returns the options for the format's encoder.
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
