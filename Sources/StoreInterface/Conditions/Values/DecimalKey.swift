/// Bytes that order as the decimal numbers they are made of, whatever the numbers' spelling.
///
/// Negative, zero and positive numbers begin with 1, 2 and 3. Then, complemented if negative: the exponent of the
/// leading digit with an offset in four bytes, the digits without zeros at either end as 1 to 10, and a 0.
package struct DecimalKey: Hashable, Sendable {
  package let bytes: [UInt8]

  /// Reads `-12.5` or `1.25e3`; nil if the text is no finite number.
  package init?(_ text: String) {
    var text = text
    guard let key = text.withUTF8({ DecimalKey(UnsafeRawBufferPointer($0)) }) else { return nil }
    self = key
  }

  /// Reads the UTF-8 of `-12.5` or `1.25e3`; nil if it is no finite number.
  package init?(_ text: UnsafeRawBufferPointer) {
    var rest = text[...]
    let isNegative = rest.first == UInt8(ascii: "-")
    if isNegative || rest.first == UInt8(ascii: "+") { rest.removeFirst() }
    var digits: [UInt8] = []
    var exponent = 0
    var hasPoint = false
    var hasDigit = false
    while let byte = rest.first, byte != UInt8(ascii: "e"), byte != UInt8(ascii: "E") {
      rest.removeFirst()
      if byte == UInt8(ascii: "."), !hasPoint {
        hasPoint = true
        continue
      }
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
      hasDigit = true
      let digit = byte - UInt8(ascii: "0")
      if hasPoint && digits.isEmpty && digit == 0 { exponent -= 1 }
      if !hasPoint && !(digits.isEmpty && digit == 0) { exponent += 1 }
      if !(digits.isEmpty && digit == 0) { digits.append(digit + 1) }
    }
    guard hasDigit else { return nil }
    if !rest.isEmpty {
      guard let scale = Int32(String(decoding: rest.dropFirst(), as: UTF8.self)) else { return nil }
      exponent += Int(scale)
    }
    while digits.last == 1 { digits.removeLast() }
    if digits.isEmpty {
      bytes = [2]
      return
    }
    guard let biased = UInt32(exactly: exponent + 0x8000_0000) else { return nil }
    var bytes: [UInt8] = (0..<4).map { UInt8(truncatingIfNeeded: biased >> (24 - 8 * $0)) } + digits + [0]
    if isNegative { for index in bytes.indices { bytes[index] = ~bytes[index] } }
    self.bytes = [isNegative ? 1 : 3] + bytes
  }
}
