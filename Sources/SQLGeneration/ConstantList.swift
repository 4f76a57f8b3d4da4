import StoreInterface

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
      case .null, .double, .blob: return nil
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
