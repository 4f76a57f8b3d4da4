/// A way to write dates: `dd.MM.yyyy HH:mm`, with the letters of Unicode's date patterns, or seconds since 1970.
package struct DatePattern: Sendable {
  private enum Element: Sendable {
    case literal(UInt8)
    /// A number of exactly this count of digits, or of one or two digits if the count is 1.
    case number(Field, digits: Int)
    case monthName
    /// AM or PM.
    case half
    /// Z or an offset.
    case zone
  }

  private enum Field: Int, Sendable { case year, month, day, hour, minute, second, fraction, twelveHour }

  private var elements: [Element] = []
  /// For seconds since 1970: how many of the unit make one second; 0 for other patterns.
  private var epochUnits = 0.0

  /// Nil if the text is not a pattern, or lacks the day.
  package init?(_ pattern: String) {
    switch pattern {
    case "epoch": epochUnits = 1
    case "epochMilliseconds": epochUnits = 1_000
    default:
      guard let elements = Self.elements(pattern) else { return nil }
      self.elements = elements
    }
  }

  private static func elements(_ pattern: String) -> [Element]? {
    var elements: [Element] = []
    var fields: Set<Int> = []
    var rest = Array(pattern.utf8)[...]
    while let letter = rest.first {
      let run = rest.prefix { $0 == letter }
      rest = rest.dropFirst(run.count)
      let count = run.count
      func number(_ field: Field, _ digits: Int) {
        fields.insert(field.rawValue)
        elements.append(.number(field, digits: digits))
      }
      switch (Character(UnicodeScalar(letter)), count) {
      case ("y", 4), ("y", 2): number(.year, count)
      case ("M", 1), ("M", 2): number(.month, count)
      case ("M", 3):
        fields.insert(Field.month.rawValue)
        elements.append(.monthName)
      case ("d", 1), ("d", 2): number(.day, count)
      case ("H", 1), ("H", 2): number(.hour, count)
      case ("h", 1), ("h", 2): number(.twelveHour, count)
      case ("m", 2): number(.minute, count)
      case ("s", 2): number(.second, count)
      case ("S", 1...9): number(.fraction, count)
      case ("a", 1): elements.append(.half)
      case ("X", 1...3), ("Z", 1): elements.append(.zone)
      case ("'", _):
        guard let end = rest.firstIndex(of: letter) else { return nil }
        for byte in rest[rest.startIndex..<end] { elements.append(.literal(byte)) }
        rest = rest[(end + 1)...]
      case (let character, _):
        if character.isASCII && character.isLetter { return nil }
        for byte in run { elements.append(.literal(byte)) }
      }
    }
    return fields.isSuperset(of: [Field.year.rawValue, Field.month.rawValue, Field.day.rawValue]) ? elements : nil
  }

  /// Returns the seconds since 2001 for a pattern that is a number; nil beyond the years 1 to 9999.
  package func secondsSince2001(_ number: Double) -> Double? {
    // Whole units are subtracted, so that the fraction is rounded once, as in a date that is spelled out.
    let seconds = (number - Self.referenceDate * epochUnits) / epochUnits
    return Self.writtenYears.contains(seconds) ? seconds : nil
  }

  /// From 0001-01-01 up to 10000-01-01, in seconds since 2001.
  private static let writtenYears = -63_113_904_000.0..<252_423_993_600

  /// 2001-01-01 in seconds since 1970.
  private static let referenceDate = 978_307_200.0

  package var isEpoch: Bool { epochUnits != 0 }

  /// The date as ISO 8601, whose values are still to be checked; nil if the text is written otherwise.
  package func iso8601(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
    var values: [Int] = [0, 1, 1, 0, 0, 0, 0, 0]
    var fractionDigits = 0
    var isAfternoon: Bool?
    var zone: [UInt8] = []
    var index = 0
    for element in elements {
      switch element {
      case .literal(let byte):
        guard index < text.count, text[index] == byte else { return nil }
        index += 1
      case .number(let field, let digits):
        guard let value = Self.number(text, &index, digits: digits, isExact: digits > 1) else { return nil }
        values[field.rawValue] = value
        if field == .year && digits == 2 { values[0] += value < 70 ? 2000 : 1900 }
        if field == .fraction { fractionDigits = digits }
        if field == .twelveHour {
          guard (1...12).contains(value) else { return nil }
          values[Field.hour.rawValue] = value % 12
        }
      case .monthName:
        guard let month = Self.month(text, &index) else { return nil }
        values[Field.month.rawValue] = month
      case .half:
        guard index + 1 < text.count, text[index + 1] | 0x20 == 0x6D else { return nil }
        switch text[index] | 0x20 {
        case 0x61: isAfternoon = false
        case 0x70: isAfternoon = true
        default: return nil
        }
        index += 2
      case .zone:
        zone = Array(text[index...])
        index = text.count
      }
    }
    guard index == text.count else { return nil }
    if isAfternoon == true { values[Field.hour.rawValue] += 12 }
    func padded(_ field: Field, _ digits: Int) -> String {
      let number = "\(values[field.rawValue])"
      return String(repeating: "0", count: max(0, digits - number.count)) + number
    }
    var iso = "\(padded(.year, 4))-\(padded(.month, 2))-\(padded(.day, 2))"
    iso += "T\(padded(.hour, 2)):\(padded(.minute, 2)):\(padded(.second, 2))"
    if fractionDigits > 0 { iso += "." + padded(.fraction, fractionDigits) }
    return Array(iso.utf8) + zone
  }

  private static func number(
    _ text: UnsafeRawBufferPointer, _ index: inout Int, digits: Int, isExact: Bool
  ) -> Int? {
    var value = 0
    var count = 0
    while index < text.count, count < max(digits, isExact ? digits : 2), (0x30...0x39).contains(text[index]) {
      value = value * 10 + Int(text[index] - 0x30)
      index += 1
      count += 1
    }
    return count == 0 || (isExact && count != digits) ? nil : value
  }

  private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    .map { Array($0.utf8) }

  private static func month(_ text: UnsafeRawBufferPointer, _ index: inout Int) -> Int? {
    guard index + 3 <= text.count else { return nil }
    let name = text[index..<index + 3].map { $0 | 0x20 }
    index += 3
    return months.firstIndex(of: name).map { $0 + 1 }
  }
}
