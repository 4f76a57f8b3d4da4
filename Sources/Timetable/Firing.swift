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

  /// The firing that submitted a job, by the job's ID; nil if it has another form.
  package init?(ofJob id: String) {
    guard let name = id.utf8.firstIndex(of: UInt8(ascii: "@")), let end = id[name...].firstIndex(of: "Z") else {
      return nil
    }
    let rest = id[id.index(after: end)...]
    guard rest.isEmpty || rest.first == "." || rest.first == "#" else { return nil }
    let parts = id[id.index(after: name)..<end].split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, let date = try? Date(parts[0] + "Z", strategy: .iso8601),
      let milliseconds = parts.count == 1 ? 0 : Int64(parts[1])
    else { return nil }
    self.init(schedule: String(id[..<name]), time: Int64(date.timeIntervalSince1970) * 1000 + milliseconds)
    // Other ways to write the same moment are not ours.
    if self.id != id[...end] { return nil }
  }

  /// The moment as its ID has it, such as `2026-11-23T03:00:00Z`.
  package var moment: String { String(id.dropFirst(schedule.count + 1)) }

  /// Such as `nightly@2026-11-23T03:00:00Z`; with milliseconds if there are any.
  package var id: String {
    let milliseconds = time % 1000
    let moment = Date(timeIntervalSince1970: Double(time / 1000)).formatted(.iso8601)
    if milliseconds == 0 { return "\(schedule)@\(moment)" }
    // Not by the format's own fractions: those are cut off from a binary number.
    return "\(schedule)@\(moment.dropLast()).\(String(milliseconds + 1000).dropFirst())Z"
  }
}
