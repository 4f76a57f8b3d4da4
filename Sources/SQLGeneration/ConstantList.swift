import ObjectGraph

/// The constants of an IN, as a list of parameters or, if they are many, as one parameter that holds a JSON array.
struct ConstantList {
  private let bindings: [SQLBinding]

  /// Lists longer than this are one parameter where possible, so that all lengths share one prepared statement.
  private static let inlineCount = 64
  /// SQLite has 32,766 parameters by default; other parts of a condition need some too.
  private static let maximumCount = 30_000

  init(_ bindings: [SQLBinding]) { self.bindings = bindings }

  /// The inside of the parentheses.
  ///
  /// - Throws: ``ConditionError`` if the list is too long.
  var segment: SQLSegment {
    get throws(ConditionError) {
      if bindings.count > Self.inlineCount, let array = jsonArray {
        return "SELECT value FROM json_each(" + SQLSegment(binding: .text(array)) + ")"
      }
      if bindings.count > Self.maximumCount {
        throw ConditionError(
          .unsupported, "IN takes at most \(Self.maximumCount) constants of this type, not \(bindings.count)")
      }
      return bindings.map(SQLSegment.init(binding:)).joined(separator: ", ")
    }
  }

  /// The constants in JSON, or nil if that would not keep them exactly.
  private var jsonArray: String? {
    var text = "["
    for binding in bindings {
      if text.utf8.count > 1 { text += "," }
      switch binding {
      case .integer(let number): text += "\(number)"
      case .text(let string):
        // SQLite ends a JSON text at U+0000.
        if string.unicodeScalars.contains("\0") { return nil }
        text += Self.quoted(string)
      case .null, .double, .blob: return nil
      }
    }
    return text + "]"
  }

  private static func quoted(_ string: String) -> String {
    var text = "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\u{0}"..<"\u{20}":
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text + "\""
  }
}
