/// Sections with a name of their own: `[Queue images]`, `[Type import]`, `[ImagePreset thumbnail]`.
extension Setting {
  /// The kinds of such sections.
  static let namedSections = ["Queue", "Type", "ImagePreset"]

  /// The keys of a section, or nil if there is no such section.
  static func settings(of section: String) -> [Setting]? {
    if sections.contains(section) { return all.filter { $0.section == section } }
    guard let space = section.firstIndex(of: " ") else { return nil }
    let name = String(section[section.index(after: space)...])
    if name.isEmpty || name.utf8.count > 100 { return nil }
    return switch section[..<space] {
    case "Queue": queue(section, name)
    case "Type": type(section, name)
    case "ImagePreset": imagePreset(section, name)
    default: nil
    }
  }

  private static func queue(_ section: String, _ name: String) -> [Setting] {
    [
      Setting(section, "Concurrency", \.[queue: name].concurrency, .integer(in: 0...100_000), .onReload),
      Setting(section, "RateLimit", \.[queue: name].rateLimit, .rate, .onReload),
    ]
  }

  private static func type(_ section: String, _ name: String) -> [Setting] {
    [
      Setting(section, "Concurrency", \.[type: name].limits.concurrency, .integer(in: 0...100_000), .onReload),
      Setting(section, "RateLimit", \.[type: name].limits.rateLimit, .rate, .onReload),
      Setting(section, "MaxAttempts", \.[type: name].maxAttempts, .integer(in: 0...1000), .onReload),
      Setting(section, "Backoff", \.[type: name].backoff, .optionalChoice, .onReload),
      Setting(
        section, "BackoffBaseSec", \.[type: name].backoffBase, .duration(in: .zero ... .seconds(86_400)), .onReload),
      Setting(
        section, "BackoffLimitSec", \.[type: name].backoffLimit, .duration(in: .zero ... .seconds(31_536_000)),
        .onReload),
      Setting(section, "TimeoutSec", \.[type: name].timeout, .duration(in: .zero ... .seconds(31_536_000)), .onReload),
    ]
  }
}

extension Configuration {
  /// Every key that has a value in this configuration or in another one, in the order of the file.
  func settings(with other: Configuration? = nil) -> [Setting] {
    let queues = Set(queues.keys).union(other?.queues.keys ?? [:].keys).sorted()
    let types = Set(types.keys).union(other?.types.keys ?? [:].keys).sorted()
    let presets = Set(imagePresets.keys).union(other?.imagePresets.keys ?? [:].keys).sorted()
    let named =
      queues.map { "Queue \($0)" } + types.map { "Type \($0)" } + presets.map { "ImagePreset \($0)" }
    return Setting.all + named.flatMap { Setting.settings(of: $0) ?? [] }
  }

  /// The settings of `[Queue NAME]`.
  package internal(set) subscript(queue name: String) -> Limits {
    get { queues[name] ?? Limits() }
    set { queues[name] = newValue == Limits() ? nil : newValue }
  }

  /// The settings of `[Type NAME]`.
  package internal(set) subscript(type name: String) -> JobType {
    get { types[name] ?? JobType() }
    set { types[name] = newValue == JobType() ? nil : newValue }
  }

  /// The limits on the jobs of a queue or a type together.
  package struct Limits: Sendable, Equatable {
    /// The most jobs that run at a time; 0 for any number.
    package internal(set) var concurrency = 0
    /// The most starts in a period; nil for any number.
    package internal(set) var rateLimit: Rate?
  }

  /// A number of starts in a period.
  package struct Rate: Sendable, Equatable {
    package let count: Int
    package let period: Duration
  }

  /// `[Type NAME]`: settings for the jobs of a type; zero and nil leave them to `[Jobs]` or to the handler.
  package struct JobType: Sendable, Equatable {
    package internal(set) var limits = Limits()
    package internal(set) var maxAttempts = 0
    package internal(set) var backoff: BackoffGrowth?
    package internal(set) var backoffBase = Duration.zero
    package internal(set) var backoffLimit = Duration.zero
    package internal(set) var timeout = Duration.zero
  }
}

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
