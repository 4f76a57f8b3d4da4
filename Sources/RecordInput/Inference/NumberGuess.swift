import DelimitedText

/// The narrowest type that holds all numbers so far.
struct NumberGuess: Sendable {
  private var areWhole = true
  private var smallest = Int64.max
  private var largest = Int64.min
  private var needsDecimal = false
  private var fitsDecimal = true

  /// Takes a number into account, as JSON writes it; false if it is none.
  mutating func add(_ field: UnsafeRawBufferPointer) -> Bool {
    guard let text = NumberText(field), FieldParser.double(field) != nil else { return false }
    if !text.fitsDouble { needsDecimal = true }
    if !text.fitsDecimal { fitsDecimal = false }
    if areWhole, text.isWhole, let value = FieldParser.int64(field) {
      smallest = min(smallest, value)
      largest = max(largest, value)
    } else {
      areWhole = false
    }
    return true
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
