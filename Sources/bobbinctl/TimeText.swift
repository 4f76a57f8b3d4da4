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

  /// One unit only.
  private static func coarse(_ seconds: Double) -> String {
    let total = wholeSeconds(seconds)
    let (name, length) = [("d", 2 * 86_400), ("h", 2 * 3600), ("min", 2 * 60)].first { total >= $0.1 } ?? ("s", 2)
    return "\(total / (length / 2)) \(name)"
  }

  /// A reply may claim anything: what doesn't fit is some billions of years.
  private static func wholeSeconds(_ seconds: Double) -> Int {
    Int(min(max(0, seconds), 1e17))
  }

  private static func local(_ date: Date) -> String {
    // Foundation's formatters would load the whole of ICU for this line.
    var seconds = time_t(min(max(date.timeIntervalSince1970, -1e11), 1e11))
    var fields = tm()
    guard localtime_r(&seconds, &fields) != nil else { return "?" }
    var buffer = [CChar](repeating: 0, count: 64)
    let count = strftime(&buffer, buffer.count, "%Y-%m-%d %H:%M:%S %z", &fields)
    return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
