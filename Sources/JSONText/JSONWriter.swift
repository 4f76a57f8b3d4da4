/// Writes values one after the other.
struct JSONWriter {
  private static let hexadecimal: StaticString = "0123456789abcdef"

  let isPretty: Bool
  private(set) var bytes: [UInt8] = []
  private var level = 0

  init(isPretty: Bool) {
    self.isPretty = isPretty
    // Most values are short: their text is put together without moving it.
    bytes.reserveCapacity(64)
  }

  mutating func write(_ value: JSONValue) {
    switch value {
    case .null: write("null")
    case .bool(let bool): write(bool ? "true" : "false")
    case .integer(let integer): write(String(integer))
    case .number(let number): write(number.isFinite ? number.description : "null")
    case .string(let string): write(quoting: string)
    case .array(let elements):
      writeContainer(elements, between: "[", and: "]") { $0.write($1) }
    case .object(let object):
      writeContainer(object.members, between: "{", and: "}") {
        $0.write(quoting: $1.key)
        $0.write($0.isPretty ? ": " : ":")
        $0.write($1.value)
      }
    }
  }

  private mutating func writeContainer<Element>(
    _ elements: [Element], between open: String, and close: String, _ writeElement: (inout Self, Element) -> Void
  ) {
    write(open)
    level += 1
    for (index, element) in elements.enumerated() {
      if index > 0 { bytes.append(Byte.comma) }
      breakLine()
      writeElement(&self, element)
    }
    level -= 1
    if !elements.isEmpty { breakLine() }
    write(close)
  }

  private mutating func breakLine() {
    guard isPretty else { return }
    bytes.append(Byte.lineFeed)
    bytes.append(contentsOf: repeatElement(Byte.space, count: level * 2))
  }

  private mutating func write(_ text: String) {
    bytes.append(contentsOf: text.utf8)
  }

  private mutating func write(quoting text: String) {
    var text = text
    bytes.append(Byte.quote)
    text.withUTF8 { utf8 in
      var written = 0
      for index in utf8.indices where Self.mustEscape(utf8[index]) {
        bytes.append(contentsOf: utf8[written..<index])
        write(escaping: utf8[index])
        written = index + 1
      }
      bytes.append(contentsOf: utf8[written...])
    }
    bytes.append(Byte.quote)
  }

  @inline(__always)
  private static func mustEscape(_ byte: UInt8) -> Bool {
    byte < Byte.space || byte == Byte.quote || byte == Byte.backslash
  }

  private mutating func write(escaping byte: UInt8) {
    switch byte {
    case Byte.quote, Byte.backslash:
      bytes.append(Byte.backslash)
      bytes.append(byte)
    case 0x08: write("\\b")
    case 0x0C: write("\\f")
    case Byte.lineFeed: write("\\n")
    case Byte.carriageReturn: write("\\r")
    case Byte.tab: write("\\t")
    default:
      write("\\u00")
      bytes.append(Self.hexadecimal.utf8Start[Int(byte >> 4)])
      bytes.append(Self.hexadecimal.utf8Start[Int(byte & 15)])
    }
  }
}

/// A piece of the text as a message may show it: 40 scalars at most, what can't be seen as code points.
func quotable(_ text: String) -> String {
  var result = ""
  for (index, scalar) in text.unicodeScalars.prefix(41).enumerated() {
    if index == 40 { return result + "..." }
    if isShown(scalar) { result.unicodeScalars.append(scalar) } else { result += codePoint(scalar) }
  }
  return result
}

/// True if a scalar can be seen and doesn't change how its neighbours look.
func isShown(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.properties.generalCategory {
  case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned, .surrogate: false
  default: true
  }
}

/// The code point in the form U+0041.
func codePoint(_ scalar: Unicode.Scalar) -> String {
  let digits = String(scalar.value, radix: 16, uppercase: true)
  return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
}

extension JSONValue {
  /// The value as JSON (RFC 8259), keys in their order.
  ///
  /// Reading it gives an equal value, except that infinite numbers and NaN are written as null.
  ///
  /// - Parameter pretty: Whether each member gets its line, indented by two spaces a level.
  public func serialized(pretty: Bool = false) -> String {
    String(decoding: serializedBytes(pretty: pretty), as: UTF8.self)
  }

  /// The value as UTF-8 without a byte order mark; see ``serialized(pretty:)``.
  public func serializedBytes(pretty: Bool = false) -> [UInt8] {
    var writer = JSONWriter(isPretty: pretty)
    writer.write(self)
    return writer.bytes
  }
}
