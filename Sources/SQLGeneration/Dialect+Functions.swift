import ObjectModel
import StoreInterface

/// Functions of values: Swift's own where the database calls them, else those of the database that do the same.
extension Dialect {
  /// A value in the form in which it is compared.
  ///
  /// Without Swift's functions, folded texts are right as far as they are ASCII, and decimals are numbers of the database.
  func applied(_ form: ComparisonForm, to value: SQLSegment) -> SQLSegment {
    if callsSwift {
      return switch form {
      case .plain: value
      case .folded(let options): "\(SQLFunction.fold.name)(" + value + ", \(options.rawValue))"
      case .decimal: "\(SQLFunction.decimalKey.name)(" + value + ")"
      case .standardKey: "\(SQLFunction.standardKey.name)(" + value + ")"
      }
    }
    return switch form {
    case .folded(let options) where options.contains(.caseInsensitive): "lower(" + value + ")"
    case .decimal: number(ofText: value)
    case .plain, .folded, .standardKey: value
    }
  }

  /// True if ``applied(_:to:)`` makes of a column what orders as Swift orders it.
  func orders(by form: ComparisonForm) -> Bool { callsSwift || form == .plain || form == .decimal }

  /// The texts that ``DecimalKey`` reads; a number of more digits in the exponent is none of a `Decimal`.
  private static let decimalPattern = #"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"#

  /// The number that a text stands for; null if it is none, which an error would be otherwise.
  private func number(ofText text: SQLSegment) -> SQLSegment {
    "CASE WHEN " + text + " ~ \(SchemaName.literal(Self.decimalPattern)) THEN " + text + "::numeric END"
  }

  /// An integer in the form of decimal numbers.
  func decimal(ofInteger value: SQLSegment) -> SQLSegment {
    callsSwift ? applied(.decimal, to: value) : "(" + value + ")::numeric"
  }

  /// A text that orders by code points, whatever the database's own order is.
  func orderedByCodePoints(_ text: SQLSegment) -> SQLSegment { callsSwift ? text : "(" + text + ") COLLATE \"C\"" }

  /// A constant in the form of a comparison.
  func parameter(_ binding: SQLBinding, _ form: ComparisonForm) -> SQLSegment {
    let parameter = SQLSegment(binding: binding)
    return form == .decimal && !callsSwift ? parameter + "::numeric" : parameter
  }

  /// True of texts with characters beyond ASCII, which only Swift folds as Swift does.
  func isBeyondASCII(_ text: SQLSegment) -> SQLSegment { "octet_length(" + text + ") <> length(" + text + ")" }

  /// A comparison of texts; null gives null.
  ///
  /// - Parameter pattern: the constant on the right, for those of its kind that have one.
  func search(
    _ text: SQLSegment, _ comparison: Condition.Comparison, for part: SQLSegment, pattern: String?
  ) -> SQLSegment {
    if callsSwift {
      let function: SQLFunction =
        switch comparison {
        case .beginsWith: .begins
        case .endsWith: .ends
        case .contains: .contains
        default: .like
        }
      return "\(function.name)(" + text + ", " + part + ")"
    }
    return switch comparison {
    case .beginsWith: "starts_with(" + text + ", " + part + ")"
    case .endsWith: "right(" + text + ", length(" + part + ")) = " + part
    case .contains: "strpos(" + text + ", " + part + ") > 0"
    default: text + " LIKE " + SQLSegment(binding: .text(Self.likePattern(pattern ?? "")))
    }
  }

  /// The pattern in SQL: `_` for `?`, `%` for `*`, and a backslash before characters that mean themselves.
  private static func likePattern(_ pattern: String) -> String {
    var result = String.UnicodeScalarView()
    func append(_ scalar: Unicode.Scalar) {
      if scalar == "%" || scalar == "_" || scalar == "\\" { result.append("\\") }
      result.append(scalar)
    }
    var scalars = pattern.unicodeScalars.makeIterator()
    while let scalar = scalars.next() {
      switch scalar {
      case "*": result.append("%")
      case "?": result.append("_")
      case "\\": append(scalars.next() ?? scalar)
      default: append(scalar)
      }
    }
    return String(result)
  }

  /// A function of one value.
  func call(_ function: Operand.Function, _ argument: SQLSegment) -> SQLSegment {
    if callsSwift { return "\(SQLFunction.computing(function).name)(" + argument + ")" }
    return switch function {
    case .ceiling: "ceil(" + argument + ")"
    case .castToNumber, .castToDate: "(" + argument + ")::double precision"
    default: "\(function.rawValue)(" + argument + ")"
    }
  }
}
