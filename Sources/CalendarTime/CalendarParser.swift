extension CalendarExpression {
  /// Reads an expression.
  ///
  /// - Parameters:
  ///   - text: As systemd.time(7) describes it.
  ///   - localZone: For expressions that name no zone.
  package init(_ text: String, localZone: ZoneInfo) throws(CalendarError) {
    var parser = CalendarParser(text, localZone)
    self = try parser.expression()
  }
}

/// Reads a calendar expression from the front to the end, apart from its zone, which comes last.
struct CalendarParser {
  private static let longestList = 241
  private static let largestNumber = Int(Int32.max)

  private let text: [UInt8]
  private let zone: CalendarExpression.Zone
  /// The end of all but the zone.
  private let end: Int
  private var index = 0

  init(_ text: String, _ localZone: ZoneInfo) {
    self.text = Array(text.utf8)
    (zone, end) = Self.zone(of: self.text, localZone)
  }

  /// The zone that ends a text, and where it begins.
  private static func zone(of text: [UInt8], _ localZone: ZoneInfo) -> (CalendarExpression.Zone, end: Int) {
    func ends(with name: String) -> Bool { lowercased(text).suffix(name.utf8.count + 1) == lowercased(" " + name)[...] }
    if ends(with: "UTC") { return (.init(name: "UTC", info: .utc), text.count - 4) }
    let names = localZone.names
    for (name, daylight) in [(names.standard, false), (names.daylight ?? "", true)]
    where !name.isEmpty && ends(with: name) {
      return (.init(name: name, info: localZone, daylight: daylight), text.count - name.utf8.count - 1)
    }
    if let space = text.lastIndex(of: UInt8(ascii: " ")) {
      let name = String(decoding: text[(space + 1)...], as: UTF8.self)
      if let info = ZoneInfo(named: name) { return (.init(name: name, info: info), space) }
    }
    return (.init(info: localZone), text.count)
  }

  private static func lowercased(_ text: some Sequence<UInt8>) -> [UInt8] {
    text.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
  }

  private static func lowercased(_ text: String) -> [UInt8] { lowercased(text.utf8) }

  mutating func expression() throws(CalendarError) -> CalendarExpression {
    if end == 0 {
      throw CalendarError(code: .empty, column: 1, message: "expected a date, a time, or a word such as daily")
    }
    var expression = CalendarExpression(zone: zone)
    if takeWord(into: &expression) { return expression }
    try takeWeekdays(into: &expression)
    let isComplete = try takeDate(into: &expression)
    if !isComplete { try takeTime(into: &expression) }
    return expression
  }
}

// Words.

extension CalendarParser {
  private func takeWord(into expression: inout CalendarExpression) -> Bool {
    switch String(decoding: Self.lowercased(text[..<end]), as: UTF8.self) {
    case "minutely": break
    case "hourly": expression.minutes = .only(0)
    case "daily": expression.setMidnight()
    case "weekly":
      expression.weekdays = 1
      expression.setMidnight()
    case "monthly": expression.setFirst(of: .any)
    case "quarterly": expression.setFirst(of: .only(1, 4, 7, 10))
    case "semiannually", "semi-annually", "biannually", "bi-annually": expression.setFirst(of: .only(1, 7))
    // The last one is what systemd accepts since its first versions.
    case "annually", "yearly", "anually": expression.setFirst(of: .only(1))
    default: return false
    }
    expression.seconds = .only(0)
    return true
  }
}

extension CalendarExpression {
  fileprivate mutating func setMidnight() { (hours, minutes, seconds) = (.only(0), .only(0), .only(0)) }

  fileprivate mutating func setFirst(of months: CalendarField) {
    (self.months, days) = (months, .only(1))
    setMidnight()
  }
}

// Characters.

extension CalendarParser {
  private var next: UInt8? { index < end ? text[index] : nil }

  private func isNext(_ characters: String) -> Bool { next.map(characters.utf8.contains) ?? false }

  private mutating func skip(_ character: String) -> Bool {
    let isThere = text[index..<end].starts(with: character.utf8)
    if isThere { index += character.utf8.count }
    return isThere
  }

  private mutating func skipSpaces() { while skip(" ") {} }

  private func column(_ index: Int) -> Int { String(decoding: text[..<index], as: UTF8.self).count + 1 }

  private func unexpected(_ expected: String) -> CalendarError {
    let rest = String(decoding: text[index...], as: UTF8.self)
    let found = rest.isEmpty ? "the end" : "\"\(rest.prefix(20))\(rest.count > 20 ? "..." : "")\""
    return CalendarError(
      code: .unexpectedText, column: column(index), message: "expected \(expected), but there is \(found)")
  }
}

// Weekdays.

extension CalendarParser {
  /// Takes a list of weekdays and of ranges of them, if the text begins with one.
  private mutating func takeWeekdays(into expression: inout CalendarExpression) throws(CalendarError) {
    var weekdays: UInt8 = 0
    var rangeStart: Int?
    repeat {
      guard let day = try takeWeekday() else {
        if weekdays == 0 { return }
        throw unexpected("a weekday, such as Mon")
      }
      let start = rangeStart ?? day
      guard start <= day else {
        throw CalendarError(
          code: .outOfRange, column: column(index), message: "a range of weekdays goes from Monday towards Sunday")
      }
      for each in start...day { weekdays |= 1 << each }
      rangeStart = try takeWeekdaySeparator(after: day, endsRange: rangeStart != nil)
      // A list may end with a comma, but a range needs its end.
    } while next != nil && !(isNext(" ") && rangeStart == nil)
    if rangeStart != nil { throw unexpected("the last weekday of the range") }
    skipSpaces()
    expression.weekdays = weekdays == 0b111_1111 ? nil : weekdays
  }

  /// Takes a weekday's name, which has to end there.
  private mutating func takeWeekday() throws(CalendarError) -> Int? {
    for (day, name) in CalendarExpression.weekdayNames.enumerated() {
      for candidate in [Self.lowercased(name), Self.lowercased(String(name.prefix(3)))]
      where Self.lowercased(text[index..<end].prefix(candidate.count)) == candidate {
        index += candidate.count
        guard next == nil || isNext("-., ") else { throw unexpected("a space after the weekday") }
        return day
      }
    }
    return nil
  }

  /// Takes what follows a weekday; returns the weekday if a range begins with it.
  private mutating func takeWeekdaySeparator(after day: Int, endsRange: Bool) throws(CalendarError) -> Int? {
    if next == nil || isNext(" ") || skip(",") { return nil }
    guard !endsRange, skip("..") || skip("-") else { throw unexpected("a comma or a space") }
    return day
  }
}

// Dates and times.

extension CalendarParser {
  private typealias Ranges = [(range: CalendarField.Range, column: Int)]

  /// Takes a date, if there is one; returns true if it has the time of day with it.
  private mutating func takeDate(into expression: inout CalendarExpression) throws(CalendarError) -> Bool {
    if next == nil { return false }
    if skip("@") {
      try takeSeconds(into: &expression)
      return true
    }
    let start = index
    var parts = [try takeRanges(unit: 1)]
    // Then it was the hours.
    if next == nil || isNext(":") {
      index = start
      return false
    }
    while isNext("-~") && parts.count < 3 && !expression.countsFromEnd {
      expression.countsFromEnd = skip("~")
      if !expression.countsFromEnd { index += 1 }
      parts.append(try takeRanges(unit: 1))
    }
    guard parts.count > 1, next == nil || isNext(" ") else {
      throw unexpected(
        parts.count < 3 && !expression.countsFromEnd ? "- and the rest of the date, or a colon" : "a space")
    }
    skipSpaces()
    let days = parts.removeLast(), months = parts.removeLast()
    if days.isEmpty { expression.countsFromEnd = false }
    if let years = parts.first {
      expression.years = try CalendarField(
        years.map { ($0.range.inFullYears, $0.column) }, bounds: .years, countsFromEnd: false)
    }
    expression.months = try CalendarField(months, bounds: .months, countsFromEnd: false)
    expression.days = try CalendarField(days, bounds: .days, countsFromEnd: expression.countsFromEnd)
    return false
  }

  private mutating func takeTime(into expression: inout CalendarExpression) throws(CalendarError) {
    guard next != nil else { return expression.setMidnight() }
    expression.hours = try CalendarField(try takeRanges(unit: 1), bounds: .hours, countsFromEnd: false)
    guard skip(":") else { throw unexpected("a colon and minutes") }
    expression.minutes = try CalendarField(try takeRanges(unit: 1), bounds: .minutes, countsFromEnd: false)
    expression.seconds = .only(0)
    if next == nil { return }
    guard skip(":") else { throw unexpected("a colon and seconds, or the end") }
    let seconds = try takeRanges(unit: CalendarExpression.second)
    expression.seconds = try CalendarField(seconds, bounds: .seconds, countsFromEnd: false)
    if next != nil { throw unexpected("the end, or the name of a time zone") }
  }

  /// Takes seconds since 1970, as the C library reads numbers: with spaces and a sign before them.
  private mutating func takeSeconds(into expression: inout CalendarExpression) throws(CalendarError) {
    let start = index
    while isNext(" \t\n\u{B}\u{C}\r") { index += 1 }
    let isNegative = skip("-")
    if !isNegative { _ = skip("+") }
    let number = try takeNumber()
    if next != nil { throw unexpected("the end") }
    let civil = CivilTime(secondsAsUTC: Int64(number))
    guard CalendarBounds.years.values.contains(civil.year), !isNegative || number == 0 else {
      throw CalendarError(
        code: .outOfRange, column: column(start), message: "seconds since 1970 go up to the end of the year 2199")
    }
    (expression.years, expression.months, expression.days) = (.only(civil.year), .only(civil.month), .only(civil.day))
    (expression.hours, expression.minutes) = (.only(civil.hour), .only(civil.minute))
    expression.seconds = .only(civil.second * CalendarExpression.second)
    expression.zone = .init(name: "UTC", info: .utc)
  }

  /// Takes a list of numbers and of ranges, or a star, for which it is empty.
  ///
  /// - Parameter unit: How many of the field's values make one of those that are written.
  private mutating func takeRanges(unit: Int) throws(CalendarError) -> Ranges {
    if skip("*") { return unit == 1 ? [] : [(CalendarField.Range(start: 0, step: unit), column(index - 1))] }
    var found: Ranges = []
    repeat {
      let start = index
      found.append((try takeRange(unit: unit), column(start)))
      if found.count > Self.longestList {
        throw CalendarError(
          code: .tooLong, column: column(start), message: "a list has at most \(Self.longestList) numbers and ranges")
      }
    } while skip(",")
    return found
  }

  private mutating func takeRange(unit: Int) throws(CalendarError) -> CalendarField.Range {
    let column = column(index)
    var range = CalendarField.Range(start: try takeValue(unit: unit))
    if skip("..") {
      range.stop = try takeValue(unit: unit)
      range.step = unit
    }
    if skip("/") {
      range.step = try takeValue(unit: unit)
      if range.step == 0 {
        throw CalendarError(code: .outOfRange, column: column, message: "a repetition needs a distance above 0")
      }
    } else if unit > 1, let stop = range.stop, range.start + range.step > stop {
      throw CalendarError(
        code: .outOfRange, column: column,
        message: "a range of less than a second needs its distance, such as 0..0.5/0.1")
    }
    if next != nil && !isNext(" ,-~:") { throw unexpected("a number's end, one of , .. / - ~ : or a space") }
    return range
  }

  private mutating func takeValue(unit: Int) throws(CalendarError) -> Int {
    let start = index
    var value = try takeNumber()
    value *= unit
    if unit > 1 && isNext(".") && !text[index..<end].starts(with: "..".utf8) {
      index += 1
      value += try takeFraction()
    }
    guard value <= Self.largestNumber else {
      throw CalendarError(code: .outOfRange, column: column(start), message: "the number is too large")
    }
    return value
  }

  private mutating func takeDigits() throws(CalendarError) -> [Int] {
    let digits = text[index..<end].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    if digits.isEmpty { throw unexpected("a number") }
    index = digits.endIndex
    return digits.map { Int($0 - UInt8(ascii: "0")) }
  }

  /// Takes a number; one that is too large for anything becomes some other such number.
  private mutating func takeNumber() throws(CalendarError) -> Int {
    try takeDigits().reduce(0) { min($0 * 10 + $1, 1 << 40) }
  }

  /// Takes the decimals of a second, rounded to microseconds.
  private mutating func takeFraction() throws(CalendarError) -> Int {
    let digits = try takeDigits()
    let kept = digits.prefix(6) + Array(repeating: 0, count: max(6 - digits.count, 0))
    return kept.reduce(0) { $0 * 10 + $1 } + (digits.count > 6 && digits[6] >= 5 ? 1 : 0)
  }
}

extension CalendarField.Range {
  /// Years of two digits are those from 1970 to 2069.
  fileprivate var inFullYears: Self {
    func full(_ year: Int) -> Int { year < 70 ? year + 2000 : year < 100 ? year + 1900 : year }
    return Self(start: full(start), stop: stop.map(full), step: step)
  }
}
