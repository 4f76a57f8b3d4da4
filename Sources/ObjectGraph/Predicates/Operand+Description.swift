import Foundation
import ObjectModel

extension Operand: CustomStringConvertible {
  /// The operand as a format string spells it.
  public var description: String {
    switch self {
    case .value(let value): value.predicateText
    case .object(let id): "<object \(id.key)>"
    case .evaluatedObject: "SELF"
    case .keyPath(let names): Self.path(names)
    case .variablePath(let name, let names): "$\(name).\(Self.path(names))"
    case .arithmetic(let left, .remainder, let right): "modulus:by:(\(left), \(right))"
    case .arithmetic(let left, let arithmetic, let right): "(\(left) \(arithmetic.rawValue) \(right))"
    case .function(let function, let operand):
      function.castType.map { "CAST(\(operand), '\($0)')" } ?? "\(function.rawValue):(\(operand))"
    case .aggregate(let aggregation, let collection, let variable, let condition):
      (condition == .constant(true) ? "\(collection)" : "SUBQUERY(\(collection), $\(variable), \(condition))")
        + aggregation.suffix
    case .entityName(let object): "\(object).entity"
    case .variable(let name): "$\(name)"
    }
  }
}

extension Operand {
  fileprivate static func path(_ names: [String]) -> String {
    names.map { FormatParser.keywords.contains($0.uppercased()) ? "#\($0)" : $0 }.joined(separator: ".")
  }
}

extension Operand.Aggregation {
  /// `.@count` or `.@sum.path`; the path begins at the element.
  fileprivate var suffix: String {
    let name =
      switch self {
      case .count: ".@count"
      case .sum: ".@sum"
      case .min: ".@min"
      case .max: ".@max"
      case .average: ".@avg"
      }
    guard let operand else { return name }
    return name + "." + (operand.path.map { Operand.path($0.names) } ?? "\(operand)")
  }
}

extension Operand.Function {
  /// The type that a cast leads to, as a format string names it; nil for other functions.
  var castType: String? {
    switch self {
    case .castToNumber: "NSNumber"
    case .castToDate: "NSDate"
    case .castToText: "NSString"
    default: nil
    }
  }
}

extension Operand.Collection: CustomStringConvertible {
  /// The path as it stands in a format string.
  public var description: String { (variable.map { "$\($0)." } ?? "") + Operand.path(path) }
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
    case .decimal(let number):
      // A literal is read as a floating-point number.
      Double("\(number)").flatMap { Decimal(string: "\($0)") } == number && !number.isNaN
        ? "\(number)" : "CAST('\(number)', 'NSDecimalNumber')"
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
