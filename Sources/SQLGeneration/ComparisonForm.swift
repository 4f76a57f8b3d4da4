import Foundation
import ObjectModel
import StoreInterface

/// The form into which both sides of a comparison are brought, by a function for columns and in Swift for constants.
enum ComparisonForm: Sendable, Hashable {
  case plain
  case folded(Condition.TextOptions)
  case decimal
  /// The sort key of ``TextOrder/localizedStandard``.
  case standardKey

  init(_ type: OperandType, _ options: Condition.TextOptions) {
    self = type == .decimal ? .decimal : options.isEmpty ? .plain : .folded(options)
  }

  init(_ type: OperandType, sortedBy order: TextOrder) {
    switch order {
    case .codePoints: self.init(type, [])
    case .caseInsensitive: self.init(type, .caseInsensitive)
    case .localizedStandard: self = .standardKey
    }
  }

  /// A constant in this form; in a dialect without Swift's functions, decimals are their digits.
  func binding(_ value: Value, _ dialect: Dialect) -> SQLBinding {
    switch value {
    case .null, .data: .null
    case .integer(let number): self == .decimal ? decimal("\(number)", dialect) : .integer(number)
    case .boolean(let truth): .integer(truth ? 1 : 0)
    case .double(let number): number.isNaN ? .null : .double(number)
    case .date(let date): .double(date.timeIntervalSinceReferenceDate)
    case .string(let string): text(string)
    case .url(let url): text(url.absoluteString)
    case .decimal(let number): self == .decimal ? decimal("\(number)", dialect) : .text("\(number)")
    case .uuid(let uuid): withUnsafeBytes(of: uuid.uuid) { .blob(Array($0)) }
    }
  }

  private func text(_ text: String) -> SQLBinding {
    if case .folded(let options) = self { .text(TextFolding.fold(text, options)) } else { .text(text) }
  }

  private func decimal(_ text: String, _ dialect: Dialect) -> SQLBinding {
    guard let key = DecimalKey(text) else { return .null }
    return dialect.callsSwift ? .blob(key.bytes) : .text(text)
  }
}

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
    get throws {
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
    var bytes: [UInt8] = [UInt8(ascii: "[")]
    bytes.reserveCapacity(bindings.count * 16)
    for binding in bindings {
      if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
      switch binding {
      case .integer(let number): bytes.append(contentsOf: String(number).utf8)
      case .text(let string):
        // SQLite ends a JSON text at U+0000.
        if string.utf8.contains(0) { return nil }
        Self.append(string, to: &bytes)
      case .null, .double, .blob, .array: return nil
      }
    }
    bytes.append(UInt8(ascii: "]"))
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func append(_ string: String, to bytes: inout [UInt8]) {
    let quote = UInt8(ascii: "\""), backslash = UInt8(ascii: "\\")
    bytes.append(quote)
    if string.utf8.contains(where: { $0 == quote || $0 == backslash || $0 < 0x20 }) {
      for byte in string.utf8 {
        if byte < 0x20 {
          let digits = String(byte, radix: 16)
          bytes.append(contentsOf: "\\u00\(digits.count < 2 ? "0" : "")\(digits)".utf8)
          continue
        }
        if byte == quote || byte == backslash { bytes.append(backslash) }
        bytes.append(byte)
      }
    } else {
      bytes.append(contentsOf: string.utf8)
    }
    bytes.append(quote)
  }
}

extension Operand {
  /// True if the operand is the same for all objects.
  var isConstant: Bool {
    switch self {
    case .value, .object: true
    case .evaluatedObject, .keyPath, .variable, .variablePath, .arithmetic, .function, .aggregate, .entityName: false
    }
  }
}

extension String {
  /// The first text after all that begin with this one, in the order of code points; nil if there is none.
  var endOfPrefix: String? {
    var scalars = Array(unicodeScalars)
    while let last = scalars.popLast() {
      // Surrogates are no scalars, so U+E000 follows U+D7FF.
      let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
      guard let successor = Unicode.Scalar(next) else { continue }
      var text = String.UnicodeScalarView(scalars)
      text.append(successor)
      return String(text)
    }
    return nil
  }
}
