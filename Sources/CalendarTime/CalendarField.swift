/// The values of one field of a calendar expression, such as its hours: any, or those of some ranges.
///
/// Seconds are counted in microseconds, so that fractions are whole numbers too.
struct CalendarField: Sendable, Equatable {
  /// A value, or values at equal distances.
  struct Range: Sendable, Equatable {
    let start: Int
    /// Nil for the end of the field.
    var stop: Int?
    /// The distance between two values; 0 for `start` alone.
    var step = 0

    static func < (first: Self, second: Self) -> Bool {
      (first.start, first.stop ?? -1, first.step) < (second.start, second.stop ?? -1, second.step)
    }
  }

  /// In order and without repetitions; empty for any value.
  private(set) var ranges: [Range]

  static let any = CalendarField(ranges: [])

  static func only(_ values: Int...) -> CalendarField { CalendarField(ranges: values.map { Range(start: $0) }) }

  /// The earliest value that is not before another; nil if there is none.
  ///
  /// - Parameter resolve: The value of an end of a range, where ranges are counted from the end of a month.
  func first(from value: Int, resolve: ((Int?) -> Int?)? = nil) -> Int? {
    if ranges.isEmpty { return value }
    return ranges.compactMap { range in
      guard let resolve else { return range.first(from: value, start: range.start, stop: range.stop) }
      // Counted from the end the last day is the earliest one. A day that the month doesn't have is before all others.
      let (start, stop) = (resolve(range.start) ?? -1, resolve(range.stop))
      guard let stop else { return range.first(from: value, start: start, stop: nil) }
      return range.first(from: value, start: stop, stop: start)
    }.min()
  }
}

extension CalendarField.Range {
  fileprivate func first(from value: Int, start: Int, stop: Int?) -> Int? {
    if start >= value { return start }
    guard step > 0 else { return nil }
    let next = start + (value - start + step - 1) / step * step
    // The end of a range that a month doesn't reach bounds nothing.
    return stop.map { $0 >= 0 && next > $0 } == true ? nil : next
  }
}

extension CalendarField {
  /// The ranges of a text in their normal form, checked against what the field allows.
  ///
  /// - Parameters:
  ///   - parsed: Ranges and the columns at which they stand.
  ///   - bounds: The values of the field.
  ///   - countsFromEnd: True for days that are counted from the end of a month.
  init(
    _ parsed: [(range: Range, column: Int)], bounds: CalendarBounds, countsFromEnd: Bool
  ) throws(CalendarError) {
    var normal = parsed.map { (range: $0.range.normalized, column: $0.column) }
    normal.sort { $0.range < $1.range }
    ranges = normal.reduce(into: []) { found, next in if found.last != next.range { found.append(next.range) } }
    for (index, range) in ranges.enumerated() {
      // As in systemd: each day from the end leaves room for the shortest month, and so does each after it.
      let upper = bounds.values.upperBound - (countsFromEnd ? 3 * (index + 1) : 0)
      if range.isAllowed(in: bounds.values.lowerBound...max(upper, bounds.values.lowerBound), countsFromEnd) {
        continue
      }
      let column = normal.first { $0.range == range }?.column ?? 1
      let what = countsFromEnd ? "days before the end of the month" : bounds.name
      throw CalendarError(
        code: .outOfRange, column: column,
        message: "\(what) go from \(bounds.text(bounds.values.lowerBound)) to \(bounds.text(upper)), "
          + "and a range or a repetition must fit in between")
    }
  }
}

extension CalendarField.Range {
  /// A range that ends on one of its values, or a single value if there are no others.
  fileprivate var normalized: Self {
    guard var stop else { return self }
    if stop > start && step > 0 { stop -= (stop - start) % step }
    return stop == start ? Self(start: start) : Self(start: start, stop: stop, step: step)
  }

  fileprivate func isAllowed(in values: ClosedRange<Int>, _ countsFromEnd: Bool) -> Bool {
    guard values.contains(start), step <= values.upperBound - values.lowerBound else { return false }
    if let stop { return values.contains(stop) && start + step <= stop }
    return countsFromEnd ? start - step >= values.lowerBound : start + step <= values.upperBound
  }
}

/// The values that a field may have, and its name in messages.
struct CalendarBounds: Sendable {
  let name: String
  let values: ClosedRange<Int>
  /// The number of the field's values that make one of those that people write.
  var unit = 1

  static let years = CalendarBounds(name: "years", values: 1970...2199)
  static let months = CalendarBounds(name: "months", values: 1...12)
  static let days = CalendarBounds(name: "days", values: 1...31)
  static let hours = CalendarBounds(name: "hours", values: 0...23)
  static let minutes = CalendarBounds(name: "minutes", values: 0...59)
  static let seconds = CalendarBounds(name: "seconds", values: 0...59_999_999, unit: CalendarExpression.second)

  func text(_ value: Int) -> String { String(value / unit) }
}

extension CalendarField {
  /// The field in its normal form.
  ///
  /// - Parameters:
  ///   - width: The least number of digits.
  ///   - unit: How many of the field's values make one of those that are written.
  func text(width: Int = 2, unit: Int = 1) -> String {
    let isAnySecond = unit > 1 && ranges.contains(Range(start: 0, step: unit))
    return ranges.isEmpty || isAnySecond ? "*" : ranges.map { $0.text(width, unit) }.joined(separator: ",")
  }
}

extension CalendarField.Range {
  fileprivate func text(_ width: Int, _ unit: Int) -> String {
    var text = Self.decimal(start, width: width, unit: unit)
    if let stop { text += ".." + Self.decimal(stop, width: width, unit: unit) }
    if step > 0 && (stop == nil || step != unit) { text += "/" + Self.decimal(step, width: 1, unit: unit) }
    return text
  }

  private static func decimal(_ value: Int, width: Int, unit: Int) -> String {
    func padded(_ number: Int, to width: Int) -> String {
      let digits = String(number)
      return String(repeating: "0", count: max(width - digits.count, 0)) + digits
    }
    return padded(value / unit, to: width) + (value % unit > 0 ? "." + padded(value % unit, to: 6) : "")
  }
}
