internal import ImageProtocol

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
