import TextSupport

/// Applies files one after the other to the defaults, and collects the problems in them.
struct ConfigurationParser {
  private var configuration = Configuration()
  var problems: [ConfigurationProblem] = []

  func result() throws(ConfigurationError) -> Configuration {
    guard problems.isEmpty else { throw ConfigurationError(problems: problems) }
    return configuration
  }

  mutating func parse(_ text: [UInt8], file: String) {
    for entry in IniReader.entries(of: text) {
      var problem: ConfigurationProblem?
      switch entry.content {
      case .section(let name):
        if Setting.settings(of: name) == nil { problem = unknownSection(name, file) }
        if name.hasPrefix(Self.presetPrefix) {
          let place = SectionPlace(file: file, line: entry.line)
          configuration.presetPlaces[String(name.dropFirst(Self.presetPrefix.count))] = place
        }
      case .malformed(.unknownSection, let name):
        problem = unknownSection(name, file)
      case .malformed(let code, let text):
        problem = ConfigurationProblem(code: code, file: file, message: Self.message(for: code, text: text))
      case .assignment(let section, let key, let value):
        problem = assign(section, key, value, file)
      }
      if var problem {
        problem.line = entry.line
        problems.append(problem)
      }
    }
  }

  private static let presetPrefix = "ImagePreset "

  private mutating func assign(
    _ section: String, _ key: String, _ value: String, _ file: String
  ) -> ConfigurationProblem? {
    guard !section.isEmpty else {
      let nearest = NearestName.find(key, in: Setting.all.map(\.key), within: .max)
      let owner = Setting.all.first { $0.key == nearest }?.section ?? ""
      return ConfigurationProblem(
        code: .keyOutsideSection, file: file, key: key, value: value,
        message: "stands before any section; put a line such as [\(owner)] above it")
    }
    // Of an unknown section its own line is reported, not every key.
    guard let settings = Setting.settings(of: section) else { return nil }
    guard let setting = settings.first(where: { $0.key == key }) else {
      return ConfigurationProblem(
        code: .unknownKey, file: file, section: section, key: key, value: value,
        message: "unknown key; \(Self.suggestion(for: key, among: settings))")
    }
    // As in systemd, an empty assignment resets earlier ones.
    if value.isEmpty {
      setting.copy(Configuration(), &configuration)
    } else if !setting.assign(value, &configuration) {
      return ConfigurationProblem(
        code: .invalidValue, file: file, section: section, key: key, value: value,
        message: "expected \(setting.allowed)")
    }
    return nil
  }

  private func unknownSection(_ name: String, _ file: String) -> ConfigurationProblem {
    let nearest = NearestName.find(name, in: Setting.sections, within: .max) ?? ""
    let named = Setting.namedSections.map { "\($0) NAME" }
    return ConfigurationProblem(
      code: .unknownSection, file: file, section: name,
      message: "unknown section; did you mean [\(nearest)]? "
        + "There are \((Setting.sections + named).joined(separator: ", "))")
  }

  private static func suggestion(for key: String, among settings: [Setting]) -> String {
    if let elsewhere = Setting.all.first(where: { $0.key == key }) {
      return "\(key) belongs to [\(elsewhere.section)]"
    }
    let keys = settings.map(\.key)
    let nearest = NearestName.find(key, in: keys, within: .max) ?? ""
    return "did you mean \(nearest)?"
  }

  static func message(for code: ConfigurationProblem.Code, text: String) -> String {
    switch code {
    case .invalidText: "not UTF-8 text, or it has control characters; save the file as plain UTF-8"
    case .lineTooLong: "the line is longer than \(text) bytes; shorten it"
    case .inlineComment: "a comment after a value in '\(text)'; put comments on lines of their own"
    case .malformedSection: "'\(text)' is not a section; expected a name in brackets, such as [Writer]"
    default: "'\(text)' is not an assignment; expected Key=Value"
    }
  }
}
