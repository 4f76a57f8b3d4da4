import DelimitedText

/// The narrowest type that holds all numbers so far.
struct NumberGuess: Sendable {
  private var areWhole = true
  private var smallest = Int64.max
  private var largest = Int64.min
  private var needsDecimal = false
  private var fitsDecimal = true
  /// Whether some have a decimal point.
  private(set) var sawPoint = false
  private var sawWhole = false
  /// A zero at the end of a fraction, other than in "2.0".
  private var sawPadding = false
  private var sawPointZero = false
  private var shortestFraction = Int.max
  private var longestFraction = 0

  /// Takes a number into account, as JSON writes it; false if it is none.
  mutating func add(_ field: UnsafeRawBufferPointer) -> Bool {
    guard let text = NumberText(field), FieldParser.double(field) != nil else { return false }
    if field.contains(0x2E) { sawPoint = true }
    if !text.fitsDouble { needsDecimal = true }
    if !text.fitsDecimal { fitsDecimal = false }
    note(text, field)
    if areWhole, text.isWhole, let value = FieldParser.int64(field) {
      smallest = min(smallest, value)
      largest = max(largest, value)
    } else {
      areWhole = false
    }
    return true
  }

  private mutating func note(_ text: NumberText, _ field: UnsafeRawBufferPointer) {
    if text.fractionLength == 0 {
      // Nothing is often written as 0 among prices.
      if text.isWhole, !(field.count == 1 && field[0] == 0x30) { sawWhole = true }
      return
    }
    shortestFraction = min(shortestFraction, text.fractionLength)
    longestFraction = max(longestFraction, text.fractionLength)
    if text.isPadded { if text.fractionLength == 1 { sawPointZero = true } else { sawPadding = true } }
  }

  /// Whether nobody writes numbers so, but versions or sections: "1.1", "2.0", "10" or "3.9", "3.10".
  ///
  /// Numbers have all their zeros ("1.50", "2.00"), one after each point ("1.5", "2.0"), or none ("1.5", "2").
  var areCodes: Bool {
    if sawWhole { return sawPointZero || sawPadding }
    return sawPadding && shortestFraction < longestFraction
  }

  /// Nil if no type holds them as they are.
  var type: GuessedType? {
    if areWhole {
      if Int16(exactly: smallest) != nil, Int16(exactly: largest) != nil { return .integer16 }
      return Int32(exactly: smallest) != nil && Int32(exactly: largest) != nil ? .integer32 : .integer64
    }
    if !needsDecimal { return .double }
    return fitsDecimal ? .decimal : nil
  }
}
