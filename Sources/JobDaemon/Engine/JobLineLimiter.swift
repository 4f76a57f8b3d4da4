/// The rate of lines about jobs: so many a second one by one, and of more of them their number.
///
/// Troubles have a rate of their own, so that thousands of jobs that end well leave room for them. A value without a clock,
/// whose moments are milliseconds on a steady one.
struct JobLineLimiter {
  /// The most lines a second about troubles: with as many others it is six tenths of what the journal takes from a
  /// service by default, which is 10,000 lines in 30 seconds.
  static let troubleLimit = 100

  private static let second: Int64 = 1000

  /// The end of the second that began with its first line; nil before one.
  private var end: Int64?
  /// The lines of this second, by whether they are about troubles.
  private var told = [false: 0, true: 0]
  /// The numbers of the others, by type.
  private var counts: [JobLine.Kind: [String: Int]] = [:]

  /// Counts a line; false if it is one too many in its second.
  ///
  /// What the seconds before have left is to be told first; see ``drain(at:)``.
  ///
  /// - Parameter limit: the most lines a second about jobs that had no trouble.
  mutating func admits(_ kind: JobLine.Kind, ofType type: String, limit: Int, at now: Int64) -> Bool {
    if end == nil { end = now + Self.second }
    guard told[kind.isTrouble, default: 0] < (kind.isTrouble ? Self.troubleLimit : limit) else {
      counts[kind, default: [:]][type, default: 0] += 1
      return false
    }
    told[kind.isTrouble, default: 0] += 1
    return true
  }

  /// The moment at which the rest of this second is to be told; nil if there is none.
  var dueTime: Int64? { counts.isEmpty ? nil : end }

  /// Ends a second that is over, and returns the lines that sum up its rest.
  mutating func drain(at now: Int64) -> [JobLine] {
    guard let end, end <= now else { return [] }
    defer { self = JobLineLimiter() }
    return JobLine.Kind.allCases.compactMap { kind in
      counts[kind].map { JobLine(kind, $0, isRest: told[kind.isTrouble, default: 0] > 0) }
    }
  }
}
