/// Sections with a name of their own: `[Queue images]`, `[Type import]`, `[ImagePreset thumbnail]`, `[Notify mail]`.
extension Setting {
  /// The kinds of such sections.
  static let namedSections = ["Queue", "Type", "ImagePreset", "Notify"]

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
    case "Notify": notifier(section, name)
    default: nil
    }
  }

  private static func queue(_ section: String, _ name: String) -> [Setting] {
    [
      Setting(section, "Concurrency", at: \.[queue: name].concurrency, as: .integer(in: 0...100_000)),
      Setting(section, "RateLimit", at: \.[queue: name].rateLimit, as: .rate),
    ]
  }

  private static func type(_ section: String, _ name: String) -> [Setting] {
    [
      Setting(section, "Concurrency", at: \.[type: name].limits.concurrency, as: .integer(in: 0...100_000)),
      Setting(section, "RateLimit", at: \.[type: name].limits.rateLimit, as: .rate),
      Setting(section, "MaxAttempts", at: \.[type: name].maxAttempts, as: .integer(in: 0...1000)),
      Setting(section, "Backoff", at: \.[type: name].backoff, as: .optionalChoice),
      Setting(
        section, "BackoffBaseSec", at: \.[type: name].backoffBase, as: .duration(in: .zero ... .seconds(86_400))),
      Setting(
        section, "BackoffLimitSec", at: \.[type: name].backoffLimit, as: .duration(in: .zero ... .seconds(31_536_000))),
      Setting(section, "TimeoutSec", at: \.[type: name].timeout, as: .duration(in: .zero ... .seconds(31_536_000))),
    ]
  }
}

extension Configuration {
  /// Every key that has a value in this configuration or in another one, in the order of the file.
  func settings(with other: Configuration? = nil) -> [Setting] {
    let queues = Set(queues.keys).union(other?.queues.keys ?? [:].keys).sorted()
    let types = Set(types.keys).union(other?.types.keys ?? [:].keys).sorted()
    let presets = Set(imagePresets.keys).union(other?.imagePresets.keys ?? [:].keys).sorted()
    let notifiers = Set(notifiers.keys).union(other?.notifiers.keys ?? [:].keys).sorted()
    let named =
      queues.map { "Queue \($0)" } + types.map { "Type \($0)" } + presets.map { "ImagePreset \($0)" }
      + notifiers.map { "Notify \($0)" }
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
      Setting(section, "Path", at: \.[imagePreset: name].path, as: .optional(.text)),
      Setting(section, "Mode", at: \.[imagePreset: name].mode, as: .optional(.fileMode)),
      Setting(section, "Format", at: \.[imagePreset: name].format, as: .optional(.word(ImageWords.writable))),
      Setting(section, "Width", at: \.[imagePreset: name].width, as: .optional(.integer(in: 1...65_535))),
      Setting(section, "Height", at: \.[imagePreset: name].height, as: .optional(.integer(in: 1...65_535))),
      Setting(section, "Fit", at: \.[imagePreset: name].fit, as: .optional(.word(ImageWords.fits))),
      Setting(section, "Crop", at: \.[imagePreset: name].crop, as: .optional(.word(ImageWords.crops))),
      Setting(section, "Background", at: \.[imagePreset: name].background, as: .optional(.colour)),
      Setting(section, "Enlarge", at: \.[imagePreset: name].enlarge, as: .optional(.boolean)),
      Setting(section, "Quality", at: \.[imagePreset: name].quality, as: .optional(.integer(in: 1...100))),
      Setting(section, "Effort", at: \.[imagePreset: name].effort, as: .optional(.integer(in: 1...10))),
      Setting(section, "Progressive", at: \.[imagePreset: name].progressive, as: .optional(.boolean)),
      Setting(section, "Lossless", at: \.[imagePreset: name].lossless, as: .optional(.boolean)),
      Setting(section, "Compression", at: \.[imagePreset: name].compression, as: .optional(.integer(in: 0...9))),
      Setting(section, "Palette", at: \.[imagePreset: name].palette, as: .optional(.boolean)),
      Setting(section, "MaxBytes", at: \.[imagePreset: name].maxBytes, as: .optional(.size(in: 1...1 << 30))),
      Setting(section, "Metadata", at: \.[imagePreset: name].metadata, as: .optional(.words(ImageWords.metadata))),
      Setting(section, "Colours", at: \.[imagePreset: name].colours, as: .optional(.word(ImageWords.colours))),
      Setting(section, "Animated", at: \.[imagePreset: name].animated, as: .optional(.boolean)),
    ]
  }
}
