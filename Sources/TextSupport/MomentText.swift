package import Foundation

extension Date {
  /// Reads a moment as ISO 8601 writes it, with or without fractions of a second and with its distance from UTC, such as
  /// `2026-11-21T10:00:00Z` and `2026-11-21T11:00:00.5+01:00`.
  ///
  /// Nil for any other text, and for a moment that no calendar has: Foundation reads February 30 as March 2.
  package init?(moment text: String) {
    guard Self.isOnCalendar(Array(text.utf8.prefix(19))), Self.isEnd(text.utf8.dropFirst(19)) else { return nil }
    for hasFraction in [false, true] {
      // Neither form reads the other's texts.
      let style = Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction)
      if let date = try? style.parse(text) {
        self = date
        return
      }
    }
    return nil
  }

  /// True for what may follow the seconds: Foundation reads no further than it understands.
  private static func isEnd(_ bytes: Substring.UTF8View) -> Bool {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    var rest = bytes
    if rest.first == UInt8(ascii: ".") { rest = rest.dropFirst().drop { digits ~= $0 } }
    if rest.first == UInt8(ascii: "Z") { return rest.count == 1 }
    guard let sign = rest.popFirst(), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { return false }
    return (rest.count == 4 || rest.count == 5) && rest.allSatisfy { digits ~= $0 || $0 == UInt8(ascii: ":") }
  }

  /// True for a date and a time of day of the form `2026-11-21T10:00:00`.
  private static func isOnCalendar(_ bytes: [UInt8]) -> Bool {
    func number(_ range: Range<Int>) -> Int? {
      bytes[range].reduce(0) { sum, byte in
        sum.flatMap { (UInt8(ascii: "0")...UInt8(ascii: "9")) ~= byte ? $0 * 10 + Int(byte - UInt8(ascii: "0")) : nil }
      }
    }
    guard bytes.count == 19, [4, 7, 10, 13, 16].map({ bytes[$0] }) == Array("--T::".utf8),
      let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), let hour = number(11..<13),
      let minute = number(14..<16), let second = number(17..<19), 1...12 ~= month
    else { return false }
    let isLeapYear = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let days = [31, isLeapYear ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
    return 1...days ~= day && hour < 24 && minute < 60 && second < 60
  }
}
