/// Durations as text: for configurations, after systemd.time(7), and for people.
package enum TimeSpan {
  /// Unit names and their length in microseconds.
  private static let units: [String: Int] = {
    let second = 1_000_000
    let named: [([String], Int)] = [
      (["usec", "us", "µs"], 1), (["msec", "ms"], 1000),
      (["seconds", "second", "sec", "s", ""], second),
      (["minutes", "minute", "min", "m"], 60 * second),
      (["hours", "hour", "hr", "h"], 3600 * second),
      (["days", "day", "d"], 86_400 * second),
      (["weeks", "week", "w"], 604_800 * second),
    ]
    return named.reduce(into: [:]) { units, entry in
      for name in entry.0 { units[name] = entry.1 }
    }
  }()

  /// The duration that `text` stands for, or nil if it is malformed, negative, or too long for 64-bit microseconds.
  package static func parse(_ text: String) -> Duration? {
    var rest = text[...]
    var total = 0
    var isEmpty = true
    while true {
      rest = rest.drop { $0 == " " }
      guard !rest.isEmpty else { break }
      guard let number = parseNumber(&rest) else { return nil }
      rest = rest.drop { $0 == " " }
      let unit = rest.prefix { $0.isLetter }
      rest = rest[unit.endIndex...]
      guard let length = units[String(unit)], let part = number.scaled(by: length) else { return nil }
      let (sum, overflow) = total.addingReportingOverflow(part)
      guard !overflow else { return nil }
      total = sum
      isEmpty = false
    }
    return isEmpty ? nil : .microseconds(total)
  }

  /// The shortest sum of units that `parse` turns into this duration, such as `1h 30min`.
  package static func text(of duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    let microseconds = attoseconds / 1_000_000_000_000
    let parts = [
      (seconds / 86_400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s"),
      (microseconds / 1000, "ms"), (microseconds % 1000, "us"),
    ].filter { $0.0 != 0 }
    return parts.isEmpty ? "0s" : parts.map { "\($0.0)\($0.1)" }.joined(separator: " ")
  }

  /// A duration for people, in two units at most: such as `4.2 ms`, `59 s` or `3 h 5 min`; negative ones count as none.
  package static func words(seconds: Double) -> String {
    let seconds = max(0, seconds)
    if seconds == 0 { return "0 s" }
    for (unit, size, limit) in [("µs", 0.000_001, 1000.0), ("ms", 0.001, 1000), ("s", 1, 60)] {
      // A value that rounds up to the next unit is shown in that.
      let value = rounded(seconds / size)
      if value < limit { return "\(value == value.rounded() ? "\(Int(value))" : "\(value)") \(unit)" }
    }
    // A reply may claim anything: what doesn't fit is some billions of years.
    return parts(Int(min(seconds, 1e17).rounded()))
  }

  /// Rounds to one decimal below ten, to none above.
  private static func rounded(_ value: Double) -> Double {
    value >= 9.95 ? value.rounded() : (value * 10).rounded() / 10
  }

  private static func parts(_ total: Int) -> String {
    let units = [("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)]
    guard let first = units.firstIndex(where: { total >= $0.1 }) else { return "0 s" }
    let (name, length) = units[first]
    let text = "\(total / length) \(name)"
    guard first + 1 < units.count, total % length >= units[first + 1].1 else { return text }
    return text + " \(total % length / units[first + 1].1) \(units[first + 1].0)"
  }

  /// A decimal number, kept as an integer and the power of ten that divides it.
  private struct Decimal {
    let digits: Int
    let divisor: Int

    func scaled(by factor: Int) -> Int? {
      let (product, overflow) = digits.multipliedReportingOverflow(by: factor)
      return overflow || product % divisor != 0 ? nil : product / divisor
    }
  }

  private static func parseNumber(_ rest: inout Substring) -> Decimal? {
    let isDigit = { (character: Character) in character >= "0" && character <= "9" }
    let whole = rest.prefix(while: isDigit)
    guard !whole.isEmpty else { return nil }
    rest = rest[whole.endIndex...]
    guard rest.first == "." else { return Int(whole).map { Decimal(digits: $0, divisor: 1) } }
    let fraction = rest.dropFirst().prefix(while: isDigit)
    guard (1...9).contains(fraction.count), let digits = Int(whole + fraction) else { return nil }
    rest = rest[fraction.endIndex...]
    return Decimal(digits: digits, divisor: fraction.reduce(1) { power, _ in power * 10 })
  }
}
