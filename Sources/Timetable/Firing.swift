import FoundationEssentials

/// One occasion on which a schedule submits its jobs.
///
/// Its ID is made of the schedule's name and of the moment that was due, whenever it is submitted: a firing that is
/// repeated after a crash, or by another host, has the same, and is recognized by it.
package struct Firing: Sendable, Hashable {
  package let schedule: String
  /// The moment that was due, in milliseconds since 1970.
  package let time: Int64

  package init(schedule: String, time: Int64) {
    self.schedule = schedule
    self.time = time
  }

  /// Such as `nightly@2026-11-23T03:00:00Z`; with milliseconds if there are any.
  package var id: String {
    let milliseconds = time % 1000
    let moment = Date(timeIntervalSince1970: Double(time / 1000)).formatted(.iso8601)
    if milliseconds == 0 { return "\(schedule)@\(moment)" }
    // Not by the format's own fractions: those are cut off from a binary number.
    return "\(schedule)@\(moment.dropLast()).\(String(milliseconds + 1000).dropFirst())Z"
  }
}
