/// A decimal number as it is spelled, exactly, whatever number of digits it has: significant digits and a power of ten.
///
/// Takes what ``FieldParser/double(_:)`` takes: an optional sign, digits with an optional point, an optional exponent.
package struct DecimalText {
  /// From the first digit that is not zero to the last one, perhaps with the point between them.
  private let digits: UnsafeRawBufferPointer
  /// The number of digits.
  package let count: Int
  /// The power of ten that the last digit stands for.
  private let power: Int
  private let isNegative: Bool

  /// Nil if the text is not a number. The text must outlive this.
  package init?(_ field: UnsafeRawBufferPointer) {
    var index = 0
    if let sign = field.first, sign == Byte.minus || sign == Byte.plus { index = 1 }
    isNegative = field.first == Byte.minus
    var (first, last): (Int?, Int) = (nil, 0)
    var hasDigit = false
    var pointAt: Int?
    while index < field.count {
      if let digit = FieldParser.digit(field[index]) {
        hasDigit = true
        if digit != 0 {
          if first == nil { first = index }
          last = index
        }
      } else if field[index] == Byte.period, pointAt == nil {
        pointAt = index
      } else {
        break
      }
      index += 1
    }
    guard hasDigit else { return nil }
    var exponent = 0
    if index < field.count {
      guard let written = FieldParser.writtenExponent(field, at: index) else { return nil }
      exponent = written
    }
    guard let first else {
      (digits, count, power) = (UnsafeRawBufferPointer(rebasing: field[..<0]), 0, 0)
      return
    }
    digits = UnsafeRawBufferPointer(rebasing: field[first...last])
    let point = pointAt ?? index
    // Places count from the point, to the left from 0 and to the right from -1.
    power = (last < point ? point - last - 1 : point - last) + exponent
    count = last - first + 1 - (first < point && point < last ? 1 : 0)
  }

  /// True if there is no fraction.
  package var isWhole: Bool { power >= 0 }

  /// The number, if it is a whole one of 64 bits.
  package var int64: Int64? {
    // Ten to the 18th is the largest power that fits.
    guard isWhole, power <= 18, count <= 19 else { return nil }
    var magnitude: UInt64 = 0
    for byte in digits {
      if let digit = FieldParser.digit(byte) { magnitude = magnitude * 10 + UInt64(digit) }
    }
    for _ in 0..<power {
      let (product, overflow) = magnitude.multipliedReportingOverflow(by: 10)
      if overflow { return nil }
      magnitude = product
    }
    if isNegative { return magnitude <= Int64.min.magnitude ? Int64(truncatingIfNeeded: 0 &- magnitude) : nil }
    return Int64(exactly: magnitude)
  }

  /// True if both are spelled with the same digits, zeros at both ends left out.
  package func hasDigits(of other: DecimalText) -> Bool {
    count == other.count
      && digits.lazy.filter { $0 != Byte.period }.elementsEqual(other.digits.lazy.filter { $0 != Byte.period })
  }
}
