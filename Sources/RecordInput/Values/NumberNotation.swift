/// How numbers are written: those such as `1.234,5` have the decimal character `,` and the grouping character `.`.
package struct NumberNotation: Sendable, Hashable {
  private let decimalByte: UInt8
  private let groupingBytes: [UInt8]

  /// - Parameters:
  ///   - decimal: `.` or `,`.
  ///   - grouping: one character between groups of three digits, or an empty text.
  package init(decimal: Character, grouping: String) {
    decimalByte = decimal.asciiValue ?? 0x2E
    groupingBytes = Array(grouping.utf8)
  }

  package var decimal: Character { Character(UnicodeScalar(decimalByte)) }
  package var grouping: String { String(decoding: groupingBytes, as: UTF8.self) }

  /// Spells a number without grouping characters and with a decimal point; false if it is none.
  ///
  /// Groups have three digits, so that a date or a version number is not taken for a number. Whether signs and letters are
  /// where a number has them is not looked at.
  package func spell(_ field: UnsafeRawBufferPointer, into scratch: ByteScratch) -> Bool {
    scratch.removeAll()
    var digits = 0
    var sawGroup = false
    var sawDecimal = false
    var index = 0
    while index < field.count {
      let byte = field[index]
      if (0x30...0x39).contains(byte) {
        digits += 1
        scratch.append(byte)
      } else if !groupingBytes.isEmpty, !sawDecimal, starts(field, at: index) {
        guard sawGroup ? digits == 3 : (1...3).contains(digits) else { return false }
        sawGroup = true
        digits = 0
        index += groupingBytes.count - 1
      } else if byte == decimalByte {
        guard !sawDecimal, !sawGroup || digits == 3 else { return false }
        sawDecimal = true
        sawGroup = false
        scratch.append(0x2E)
      } else if byte == 0x2B || byte == 0x2D || (0x61...0x7A).contains(byte | 0x20) {
        // A sign, or an exponent.
        scratch.append(byte)
      } else {
        return false
      }
      index += 1
    }
    return (!sawGroup || digits == 3) && scratch.bytes.last != 0x2E
  }

  private func starts(_ field: UnsafeRawBufferPointer, at index: Int) -> Bool {
    index + groupingBytes.count <= field.count
      && field[index..<index + groupingBytes.count].elementsEqual(groupingBytes)
  }
}
