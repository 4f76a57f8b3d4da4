internal import ImageProtocol

extension ImageFormat {
  /// The one decoder class of the format that reads from a descriptor.
  var loaderClass: String {
    switch self {
    case .jpeg: "VipsForeignLoadJpegSource"
    case .png: "VipsForeignLoadPngSource"
    case .webp: "VipsForeignLoadWebpSource"
    case .gif: "VipsForeignLoadNsgifSource"
    case .tiff: "VipsForeignLoadTiffSource"
    case .heif: "VipsForeignLoadHeifSource"
    }
  }

  /// The encoder of the format that writes to a descriptor, and its defaults; nil if the helper doesn't write it.
  var saver: (className: String, options: [(name: String, value: String)], takesQuality: Bool)? {
    switch self {
    // Transparent parts become white, as paper is; libvips would make them black.
    case .jpeg: ("VipsForeignSaveJpegTarget", [("background", "255"), ("optimize-coding", "true")], true)
    case .png: ("VipsForeignSavePngTarget", [], false)
    case .webp: ("VipsForeignSaveWebpTarget", [], true)
    case .gif, .tiff, .heif: nil
    }
  }
}
