import Foundation
internal import Glibc
import StatusReplies
import TextSupport

/// Times and durations for people, in the local time zone and relative to one moment.
struct TimeText {
  let now: Date

  init(now: Date = Date()) {
    self.now = now
  }

  /// Such as `3 s ago`, or `in 2 min` when the clocks differ.
  func relative(_ time: Timestamp) -> String {
    guard let date = time.date else { return time.text }
    let seconds = now.timeIntervalSince(date)
    if abs(seconds) < 1 { return "just now" }
    return seconds < 0 ? "in \(Self.coarse(-seconds))" : "\(Self.coarse(seconds)) ago"
  }

  /// Such as `2026-11-21 10:00:00 +0100, 3 s ago`.
  func full(_ time: Timestamp) -> String {
    guard let date = time.date else { return time.text }
    return "\(Self.local(date)), \(relative(time))"
  }

  /// Between two times, or until now if there is no second.
  func duration(from start: Timestamp?, to end: Timestamp?) -> String? {
    guard let start = start?.date, let end = end == nil ? now : end?.date else { return nil }
    return TimeSpan.words(seconds: end.timeIntervalSince(start))
  }

  /// The moment that people write as a local day or minute, by ISO 8601, or as how long ago it was; nil for other text.
  func moment(_ text: String) -> Date? {
    let past = text.hasSuffix(" ago") ? String(text.dropLast(4)) : text
    if let span = TimeSpan.parse(past) { return now - span / .seconds(1) }
    if let day = Self.days[text] {
      return Calendar.current.date(byAdding: .day, value: day, to: Calendar.current.startOfDay(for: now))
    }
    if text == "now" { return now }
    let form = /(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d))?)?/
    guard let parts = text.wholeMatch(of: form)?.output else { return Timestamp(text: text).date }
    let numbers = [parts.1, parts.2, parts.3, parts.4 ?? "", parts.5 ?? "", parts.6 ?? ""].map { Int32($0) ?? 0 }
    var fields = tm()
    (fields.tm_year, fields.tm_mon, fields.tm_mday) = (numbers[0] - 1900, numbers[1] - 1, numbers[2])
    (fields.tm_hour, fields.tm_min, fields.tm_sec) = (numbers[3], numbers[4], numbers[5])
    // Whether it was summer time is for the time zone to say.
    fields.tm_isdst = -1
    let seconds = mktime(&fields)
    // mktime takes a 31st of April for the 1st of May.
    guard fields.tm_mon == numbers[1] - 1, fields.tm_mday == numbers[2] else { return nil }
    return Date(timeIntervalSince1970: Double(seconds))
  }

  /// Words for the beginnings of days, as systemd.time(7) has them, by how far they are from today.
  private static let days = ["yesterday": -1, "today": 0, "tomorrow": 1]

  /// One unit only.
  static func coarse(_ seconds: Double) -> String {
    let total = wholeSeconds(seconds)
    let (name, length) = [("d", 2 * 86_400), ("h", 2 * 3600), ("min", 2 * 60)].first { total >= $0.1 } ?? ("s", 2)
    return "\(total / (length / 2)) \(name)"
  }

  /// A reply may claim anything: what doesn't fit is some billions of years.
  private static func wholeSeconds(_ seconds: Double) -> Int {
    Int(min(max(0, seconds), 1e17))
  }

  /// The local time of day, such as `10:00:00`.
  static func clock(_ date: Date) -> String { local(date, "%H:%M:%S") }

  static func local(_ date: Date, _ format: String = "%Y-%m-%d %H:%M:%S %z") -> String {
    // Foundation's formatters would load the whole of ICU for this line.
    var seconds = time_t(min(max(date.timeIntervalSince1970, -1e11), 1e11))
    var fields = tm()
    guard localtime_r(&seconds, &fields) != nil else { return "?" }
    var buffer = [CChar](repeating: 0, count: 64)
    let count = strftime(&buffer, buffer.count, format, &fields)
    return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
