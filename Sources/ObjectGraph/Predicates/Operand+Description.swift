import Foundation
import ObjectModel

extension Operand: CustomStringConvertible {
  /// The operand as a format string spells it.
  public var description: String {
    switch self {
    case .value(let value): value.predicateText
    case .object(let id): "<object \(id.key)>"
    case .evaluatedObject: "SELF"
    case .keyPath(let names):
      names.map { FormatParser.keywords.contains($0.uppercased()) ? "#\($0)" : $0 }.joined(separator: ".")
    case .variable(let name): "$\(name)"
    }
  }
}

extension Value {
  /// The value as a format string spells it; types without a literal are shown as the text they convert from.
  var predicateText: String {
    switch self {
    case .null: "nil"
    case .integer(let number): "\(number)"
    case .double(let number): "\(number)"
    case .boolean(let truth): truth ? "TRUE" : "FALSE"
    case .string(let text): Self.quoted(text)
    case .decimal(let number): "\(number)"
    case .date(let date): Self.quoted(date.ISO8601Format())
    case .data(let data): "<\(data.count) bytes>"
    case .uuid(let uuid): Self.quoted(uuid.uuidString)
    case .url(let url): Self.quoted(url.absoluteString)
    }
  }

  private static func quoted(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
  }
}
