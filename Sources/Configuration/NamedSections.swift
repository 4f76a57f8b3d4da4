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
