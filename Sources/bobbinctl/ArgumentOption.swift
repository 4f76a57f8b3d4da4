import JSONText
import TextSupport

/// An option that becomes a key of a job or of its arguments, under the name that job files have for it.
///
/// The daemon checks the values, so that a mistake is told in the same words as that of a job file.
struct ArgumentOption: Sendable {
  /// The way in which an option's text becomes a value.
  enum Form: Sendable {
    case text
    /// A whole number, or a text such as `60K` or `5%`.
    case number
    /// True if the option is given.
    case flag
    /// A text, or several that commas separate.
    case list
    /// `yes` or `no`.
    case yesOrNo
    /// A character by itself or by name: `tab`, and `none` for null.
    case character
  }

  let option: Option
  let key: String
  private let form: Form

  /// - Parameter key: The name in job files; nil for that of the option, in camel case.
  init(_ option: Option, _ form: Form = .text, key: String? = nil) {
    self.option = option
    self.form = form
    let words = option.name.split(separator: "-")
    self.key = key ?? words.prefix(1).joined() + words.dropFirst().map(\.capitalized).joined()
  }

  /// The value; nil if the option is not given.
  func value(in arguments: ParsedArguments) -> JSONValue? {
    let texts = arguments.all(option.name)
    guard let text = texts.first else { return nil }
    switch form {
    case .text: return .string(text)
    case .number: return Int64(text).map(JSONValue.integer) ?? .string(text)
    case .flag: return true
    case .list:
      let parts = texts.flatMap { $0.split(separator: ",") }.map { JSONValue.string(String($0)) }
      return parts.count == 1 ? parts[0] : .array(parts)
    case .yesOrNo:
      return ["yes": true, "no": false][text.lowercased()] ?? .string(text)
    case .character:
      return ["tab": "\t", "\\t": "\t", "none": .null][text] ?? .string(text)
    }
  }
}

extension [ArgumentOption] {
  /// The values of those that are given, by key.
  func values(in arguments: ParsedArguments) -> JSONObject {
    reduce(into: JSONObject()) { object, option in
      if let value = option.value(in: arguments) { object[option.key] = value }
    }
  }
}
