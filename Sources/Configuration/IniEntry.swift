/// The content of one line of a configuration file.
struct IniEntry: Equatable {
  enum Content: Equatable {
    case section(String)
    case assignment(section: String, key: String, value: String)
    /// A line that can't be used: its text, or for a line that is too long the limit in bytes.
    case malformed(ConfigurationProblem.Code, text: String)
  }

  /// The line that inih gets instead of a malformed section line; its assignments belong to no section that exists.
  static let replacementSection = "[?]"

  /// Counted from 1.
  let line: Int
  let content: Content
}
