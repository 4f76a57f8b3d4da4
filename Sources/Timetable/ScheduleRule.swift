package import CalendarTime

/// The fate of a firing while a job of the one before it is unfinished.
package enum Overlap: String, Sendable, CaseIterable {
  /// It is left out.
  case skip
  /// Its jobs wait for those of the one before.
  case queue
  /// It is nothing special.
  case allow
}

/// A schedule: when it fires. All times are milliseconds.
package struct ScheduleRule: Sendable, Equatable {
  package let name: String
  /// Each of them fires.
  package var times: [CalendarExpression] = []
  /// Fires at the multiples of this time since 1970, which are the same after each start and on each host.
  package var interval: Int64?
  /// True if it fires at the start when moments have passed meanwhile, once for all of them.
  package var isPersistent = false
  /// The most that a firing is put off; how much is chance, but the same for the same firing.
  package var randomDelay: Int64 = 0
  package var overlap = Overlap.skip

  package init(name: String) { self.name = name }

  /// True if the moments of both are the same.
  func hasMoments(of other: ScheduleRule) -> Bool { times == other.times && interval == other.interval }

  /// The moments in words, which are others for a rule with others.
  var moments: String {
    (times.map(\.description) + (interval.map { ["every \($0) ms"] } ?? [])).joined(separator: ", ")
  }

  /// The first moment after another; nil if there is none.
  package func next(after moment: Int64) -> Int64? {
    // Calendar expressions are finer than a millisecond; what lies in between counts as the millisecond after it.
    let calendar = times.compactMap { $0.next(after: moment * 1000).map { ($0 + 999) / 1000 } }
    let multiple = interval.map { moment - moment % $0 + $0 }
    return (calendar + [multiple].compactMap(\.self)).min()
  }

  /// The last moment in a time; nil if there is none.
  ///
  /// - Parameters:
  ///   - start: before the first of them.
  ///   - end: the last that counts.
  func last(after start: Int64, through end: Int64) -> Int64? {
    // From the end, in windows of twice the length each: a month of minutes is not to be walked through.
    var length: Int64 = 1000
    while true {
      let begin = max(start, end - length)
      if var found = next(after: begin), found <= end {
        while let later = next(after: found), later <= end { found = later }
        return found
      }
      if begin == start { return nil }
      length *= 2
    }
  }
}
