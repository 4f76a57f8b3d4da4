extension Configuration {
  /// `[ImagePreset NAME]`: the defaults of picture outputs that name it.
  package struct ImagePreset: Sendable, Equatable {
    package internal(set) var path: String?
    package internal(set) var mode: String?
    package internal(set) var format: String?
    package internal(set) var width: Int?
    package internal(set) var height: Int?
    package internal(set) var fit: String?
    package internal(set) var crop: String?
    package internal(set) var background: String?
    package internal(set) var enlarge: Bool?
    package internal(set) var quality: Int?
    package internal(set) var effort: Int?
    package internal(set) var progressive: Bool?
    package internal(set) var lossless: Bool?
    package internal(set) var compression: Int?
    package internal(set) var palette: Bool?
    package internal(set) var maxBytes: Int?
    package internal(set) var metadata: [String]?
    package internal(set) var colours: String?
    package internal(set) var animated: Bool?
  }

  /// The settings of `[ImagePreset NAME]`.
  package internal(set) subscript(imagePreset name: String) -> ImagePreset {
    get { imagePresets[name] ?? ImagePreset() }
    set { imagePresets[name] = newValue == ImagePreset() ? nil : newValue }
  }
}

extension Setting {
  static func imagePreset(_ section: String, _ name: String) -> [Setting] {
    [
      Setting(section, "Path", \.[imagePreset: name].path, .optional(.text), .onReload),
      Setting(section, "Mode", \.[imagePreset: name].mode, .optional(.fileMode), .onReload),
      Setting(section, "Format", \.[imagePreset: name].format, .optional(.word(ImageWords.writable)), .onReload),
      Setting(section, "Width", \.[imagePreset: name].width, .optional(.integer(in: 1...65_535)), .onReload),
      Setting(section, "Height", \.[imagePreset: name].height, .optional(.integer(in: 1...65_535)), .onReload),
      Setting(section, "Fit", \.[imagePreset: name].fit, .optional(.word(ImageWords.fits)), .onReload),
      Setting(section, "Crop", \.[imagePreset: name].crop, .optional(.word(ImageWords.crops)), .onReload),
      Setting(section, "Background", \.[imagePreset: name].background, .optional(.colour), .onReload),
      Setting(section, "Enlarge", \.[imagePreset: name].enlarge, .optional(.boolean), .onReload),
      Setting(section, "Quality", \.[imagePreset: name].quality, .optional(.integer(in: 1...100)), .onReload),
      Setting(section, "Effort", \.[imagePreset: name].effort, .optional(.integer(in: 1...10)), .onReload),
      Setting(section, "Progressive", \.[imagePreset: name].progressive, .optional(.boolean), .onReload),
      Setting(section, "Lossless", \.[imagePreset: name].lossless, .optional(.boolean), .onReload),
      Setting(section, "Compression", \.[imagePreset: name].compression, .optional(.integer(in: 0...9)), .onReload),
      Setting(section, "Palette", \.[imagePreset: name].palette, .optional(.boolean), .onReload),
      Setting(section, "MaxBytes", \.[imagePreset: name].maxBytes, .optional(.size(in: 1...1 << 30)), .onReload),
      Setting(section, "Metadata", \.[imagePreset: name].metadata, .optional(.words(ImageWords.metadata)), .onReload),
      Setting(section, "Colours", \.[imagePreset: name].colours, .optional(.word(ImageWords.colours)), .onReload),
      Setting(section, "Animated", \.[imagePreset: name].animated, .optional(.boolean), .onReload),
    ]
  }
}
