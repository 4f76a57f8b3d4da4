/// All schedules: which of them fires when. A value that knows no clock, thread or store.
///
/// Events go in with the time of the wall clock, in milliseconds since 1970; firings come out, to be submitted. A firing
/// may come out again after a crash, or when the clock was put back: whoever submits it recognizes it by its ID.
package struct Timetable: Sendable {
  /// A firing that is to be submitted.
  package struct Order: Sendable, Equatable {
    package let firing: Firing
    /// The firing for whose jobs those of this one are to wait.
    package let previous: Firing?
    /// The schedule's place before this firing: what is kept until its jobs are submitted.
    let place: Record
  }

  /// Moments of a schedule that passed, and nothing fired.
  package struct Missed: Sendable, Equatable {
    package enum Reason: String, Sendable {
      /// A job of the firing before was unfinished.
      case overlap
      /// Nobody looked at the time, or firings could not be submitted.
      case late
    }

    /// The first and the last of them; often the same.
    package let first, last: Firing
    package let reason: Reason
  }

  /// One schedule, and where it is.
  private struct Entry {
    var rule: ScheduleRule
    /// The moment that was due last, whether it fired or was left out; where the search for the next one begins.
    var last: Int64
    /// The last that was submitted.
    var fired: Firing?
    /// The moment that is due next; nil if it never fires again.
    var next: Int64?
    /// The next moment, and how much it is put off.
    var alarm: Int64?
    var isPaused = false

    var place: Record { Record(last: last, fired: fired?.time, isPaused: isPaused) }
  }

  private var entries: [String: Entry] = [:]
  /// Makes other delays on other hosts.
  private let seed: UInt64
  /// The latest time that an event had.
  private var now = Int64.min
  /// The moments that were missed and not told of yet, in their order.
  package private(set) var missed: [Missed] = []

  /// - Parameter seed: makes delays; to be the same after each start, and another one on each host.
  package init(seed: UInt64) { self.seed = seed }

  /// The time at which ``advance(to:isUnfinished:)`` is to be called next; nil if nothing will be due.
  package var nextAlarm: Int64? { entries.values.lazy.filter { !$0.isPaused }.compactMap(\.alarm).min() }

  // MARK: Events

  /// Puts schedules into force, at the start or when they were read again; those that are missing are dropped.
  ///
  /// A schedule that stays keeps its place. A new one fires for nothing that was due before, unless it is persistent and
  /// has a record of an earlier run.
  ///
  /// - Parameter records: the places of schedules in an earlier run.
  package mutating func replace(_ rules: [ScheduleRule], records: [String: Record] = [:], at time: Int64) {
    now = max(now, time)
    var replaced: [String: Entry] = [:]
    for rule in rules {
      var entry: Entry
      if let present = entries[rule.name] {
        entry = present
        if present.rule != rule {
          entry.rule = rule
          seek(&entry, after: max(present.last, time))
        }
      } else {
        // A record of the future is of a clock that was wrong.
        let record = records[rule.name]
        entry = Entry(rule: rule, last: min(record?.last ?? time, time))
        entry.fired = record?.fired.map { Firing(schedule: rule.name, time: $0) }
        entry.isPaused = record?.isPaused ?? false
        if !rule.isPersistent || entry.isPaused {
          if record != nil && !entry.isPaused { noteMissed(rule, after: entry.last, through: time, .late) }
          entry.last = time
        }
        seek(&entry, after: entry.last)
      }
      replaced[rule.name] = entry
    }
    entries = replaced
  }

  /// Finds what is due; of several moments of a schedule that have passed meanwhile, only the last one fires.
  ///
  /// - Parameter isUnfinished: asked of the firing before, when the schedule leaves firings out while it is unfinished.
  package mutating func advance(to time: Int64, isUnfinished: (Firing) -> Bool) -> [Order] {
    // A clock that was ahead and is put right would keep a schedule waiting for the wrong time.
    if time < now { for name in entries.keys { restart(name, at: time) } }
    now = time
    return entries.keys.sorted().compactMap { name in
      guard var entry = entries[name], !entry.isPaused, let alarm = entry.alarm, alarm <= time, let due = entry.next
      else { return nil }
      let moment = entry.rule.last(after: due, through: time) ?? due
      let (firing, previous, place) = (Firing(schedule: name, time: moment), entry.fired, entry.place)
      entry.last = moment
      seek(&entry, after: moment)
      defer { entries[name] = entry }
      if entry.rule.overlap == .skip, let previous, previous != firing, isUnfinished(previous) {
        noteMissed(entry.rule, after: due - 1, through: moment, .overlap)
        return nil
      }
      noteMissed(entry.rule, after: due - 1, through: moment - 1, .late)
      entry.fired = firing
      return Order(
        firing: firing, previous: entry.rule.overlap == .queue && previous != firing ? previous : nil, place: place)
    }
  }

  /// Notes the moments of a schedule in a time as missed, if there are any.
  private mutating func noteMissed(
    _ rule: ScheduleRule, after start: Int64, through end: Int64, _ reason: Missed.Reason
  ) {
    guard let first = rule.next(after: start), first <= end, let last = rule.last(after: start, through: end) else {
      return
    }
    missed.append(
      Missed(
        first: Firing(schedule: rule.name, time: first), last: Firing(schedule: rule.name, time: last), reason: reason))
  }

  /// Drops the first of what was missed: it was told.
  package mutating func dropFirstMissed() { if !missed.isEmpty { missed.removeFirst() } }

  /// Returns the firing of a schedule that an operator wants now, paused or not; nil if there is none of that name.
  package func order(_ name: String, at time: Int64) -> Order? {
    guard let entry = entries[name] else { return nil }
    return Order(
      firing: Firing(schedule: name, time: time), previous: entry.rule.overlap == .queue ? entry.fired : nil,
      place: entry.place)
  }

  /// Notes that the jobs of a firing that an operator wanted are submitted.
  package mutating func noteFired(_ firing: Firing) { entries[firing.schedule]?.fired = firing }

  /// Keeps a schedule from firing, or ends that; what was due meanwhile doesn't fire. False if there is no such schedule.
  package mutating func setPaused(_ isPaused: Bool, _ name: String, at time: Int64) -> Bool {
    guard let entry = entries[name] else { return false }
    if entry.isPaused && !isPaused { restart(name, at: time) }
    entries[name]?.isPaused = isPaused
    return true
  }

  /// Goes on from a moment, without looking at what was due before.
  private mutating func restart(_ name: String, at time: Int64) {
    guard var entry = entries[name] else { return }
    entry.last = time
    seek(&entry, after: time)
    entries[name] = entry
  }

  private func seek(_ entry: inout Entry, after moment: Int64) {
    entry.next = entry.rule.next(after: moment)
    entry.alarm = entry.next.map { $0 + delay(of: Firing(schedule: entry.rule.name, time: $0), entry.rule.randomDelay) }
  }

  /// The time by which a firing is put off: chance, but the same each time.
  private func delay(of firing: Firing, _ most: Int64) -> Int64 {
    if most <= 0 { return 0 }
    // FNV-1a, by Fowler, Noll and Vo, then mixed, since the last bytes change its upper bits too little.
    var hash = firing.id.utf8.reduce(0xcbf2_9ce4_8422_2325 ^ seed) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    hash = (hash ^ (hash >> 32)) &* 0x9e37_79b9_7f4a_7c15
    return Int64((hash ^ (hash >> 32)) % UInt64(most + 1))
  }

  // MARK: State

  /// The place of a schedule, as it is kept from one run to the next. Without it nothing fires twice, but what was missed
  /// meanwhile is not known.
  package struct Record: Sendable, Equatable, Codable {
    /// The moment that was due last.
    package let last: Int64
    /// The moment of the last firing.
    package let fired: Int64?
    package let isPaused: Bool

    package init(last: Int64, fired: Int64?, isPaused: Bool = false) {
      self.last = last
      self.fired = fired
      self.isPaused = isPaused
    }
  }

  /// The places of all schedules, for ``replace(_:records:at:)`` of the next run.
  ///
  /// - Parameter pending: firings whose jobs are not submitted yet, in their order; the next run is to make them again.
  package func records(without pending: [Order] = []) -> [String: Record] {
    var records = entries.mapValues(\.place)
    for order in pending.reversed() {
      guard let present = records[order.firing.schedule] else { continue }
      records[order.firing.schedule] = Record(
        last: order.place.last, fired: order.place.fired, isPaused: present.isPaused)
    }
    return records
  }

  /// A schedule as people see it.
  package struct Overview: Sendable, Equatable {
    package let name: String
    /// Nil if it never fires again, or is paused.
    package let next: Int64?
    package let last: Firing?
    package let isPaused: Bool
  }

  /// All schedules, by name.
  package var overview: [Overview] {
    entries.values.sorted { $0.rule.name < $1.rule.name }.map { entry in
      Overview(
        name: entry.rule.name, next: entry.isPaused ? nil : entry.alarm, last: entry.fired, isPaused: entry.isPaused)
    }
  }
}
