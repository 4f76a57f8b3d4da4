import Foundation
import ObjectModel

/// The default that a generated property returns in place of nil, as Swift source.
struct Fallback {
  /// The name of the constant that holds the default where making it can fail.
  let constant: String
  /// The expression that yields the default.
  let expression: String
  /// The expression that makes the constant, an optional value; nil if the default is a literal.
  let construction: String?

  /// Nil if the attribute has no default.
  ///
  /// - Parameter name: The attribute's name in Swift.
  init?(_ attribute: AttributeDescription, name: String, type: String) {
    constant = SwiftNames.escaped(name + "Default")
    switch attribute.defaultValue {
    case .string(let text):
      construction = nil
      expression = SwiftNames.literal(text)
      return
    case .date(let date):
      construction = nil
      expression = "\(type)(timeIntervalSinceReferenceDate: \(date.timeIntervalSinceReferenceDate))"
      return
    case .decimal(let decimal): construction = "\(type)(string: \"\(decimal)\")"
    case .uuid(let uuid): construction = "\(type)(uuidString: \"\(uuid.uuidString)\")"
    case .url(let url): construction = "\(type)(string: \(SwiftNames.literal(url.absoluteString)))"
    case .data(let data): construction = "\(type)(base64Encoded: \"\(data.base64EncodedString())\")"
    case .null, .integer, .double, .boolean: return nil
    }
    expression = "Self.\(constant)"
  }
}
