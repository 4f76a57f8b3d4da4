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
    /// The moment of the firing whose jobs are to be submitted; nothing else fires before.
    var due: Int64?
    /// The moment that is due next; nil if it never fires again.
    var next: Int64?
    /// The time at which the next moment fires: put off by its delay, and not before those ahead of it have fired.
    var alarm: Int64?
    /// The moment up to which the rule does not count: that of an edit while the next moment, of the old rule, waited for its
    /// delay.
    var edited = Int64.min
    /// The reason why the jobs of the last firing were refused; nil if they were not.
    var refusal: String?
    var isPaused = false

    /// The place to keep: a moment of an old rule can't be found again by the new one, so it is due then.
    var place: Record {
      let waiting = next.flatMap { $0 <= edited ? $0 : nil }
      return Record(
        last: waiting == nil ? last : edited, fired: fired?.time, due: due ?? waiting, next: next,
        moments: rule.moments, refusal: refusal, isPaused: isPaused)
    }

    /// The firing of a moment; if its jobs wait for those before, with the firing that it follows.
    func order(at time: Int64) -> Order {
      let firing = Firing(schedule: rule.name, time: time)
      return Order(firing: firing, previous: rule.overlap == .queue && fired != firing ? fired : nil)
    }
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
  package var nextAlarm: Int64? {
    entries.values.lazy.filter { !$0.isPaused && $0.due == nil }.compactMap(\.alarm).min()
  }

  // MARK: Events

  /// Puts schedules into force, at the start or when they were read again; those that are missing are dropped.
  ///
  /// A schedule that stays keeps its place. A new one fires for nothing that was due before, unless it has a record of an
  /// earlier run: then what waited for its delay goes on to do so, and a persistent one makes up for what was missed.
  ///
  /// - Parameters:
  ///   - records: the places of schedules in an earlier run.
  ///   - isContinued: true if that run has ended only now, for this one: nothing counts as missed.
  package mutating func replace(
    _ rules: [ScheduleRule], records: [String: Record] = [:], at time: Int64, isContinued: Bool = false
  ) {
    now = max(now, time)
    entries = Dictionary(
      rules.map { rule in
        if let present = entries[rule.name] { return (rule.name, changed(present, to: rule, at: time)) }
        return (rule.name, restored(rule, records[rule.name], at: time, isContinued: isContinued))
      }
    ) { _, last in last }
  }

  private func changed(_ present: Entry, to rule: ScheduleRule, at time: Int64) -> Entry {
    if present.rule == rule { return present }
    var entry = present
    entry.rule = rule
    let waits = present.next.map { $0 <= time && !present.isPaused } ?? false
    if rule.hasMoments(of: present.rule) {
      if !waits { seek(&entry, after: entry.last) }
      return entry
    }
    // What waits for its delay was due under the old rule.
    if waits {
      entry.edited = time
      return entry
    }
    entry.last = max(present.last, time)
    seek(&entry, after: entry.last)
    return entry
  }

  private mutating func restored(
    _ rule: ScheduleRule, _ record: Record?, at time: Int64, isContinued: Bool
  ) -> Entry {
    guard let record else {
      var entry = Entry(rule: rule, last: time)
      seek(&entry, after: time)
      return entry
    }
    // A record of the future is of a clock that was wrong.
    var entry = Entry(rule: rule, last: min(record.last, time))
    entry.fired = record.fired.map { Firing(schedule: rule.name, time: $0) }
    entry.due = record.due.flatMap { $0 <= time ? $0 : nil }
    entry.refusal = record.refusal
    entry.isPaused = record.isPaused
    if entry.isPaused {
      entry.last = time
    } else if let moments = record.moments, moments != rule.moments {
      // Edited while nobody looked: what was due is due by the old rule, and the new one counts from now on.
      if entry.due == nil, rule.isPersistent || isContinued {
        entry.due = record.next.flatMap { $0 <= time ? $0 : nil }
      }
      entry.last = time
    } else if !rule.isPersistent && !isContinued {
      let passed = rule.last(after: entry.last, through: time)
      // The last moment is not missed while it waits for its delay.
      let end = passed.map { alarm(of: rule, at: $0) > time ? $0 - 1 : time } ?? time
      noteMissed(rule, after: entry.last, through: end, .late)
      entry.last = max(entry.last, end)
    }
    seek(&entry, after: entry.last)
    return entry
  }

  /// Finds what is due; of several moments of a schedule that have passed meanwhile, only the last one fires.
  ///
  /// - Parameter isUnfinished: asked of the firing before, when the schedule leaves firings out while it is unfinished.
  package mutating func advance(to time: Int64, isUnfinished: (Firing) -> Bool) {
    // A clock that was ahead and is put right would keep a schedule waiting for the wrong time.
    if time < now { for (name, entry) in entries where entry.last > time { restart(name, at: time) } }
    now = time
    for name in entries.keys.sorted() {
      guard var entry = entries[name], !entry.isPaused, entry.due == nil, let next = entry.next,
        let alarm = entry.alarm, alarm <= time
      else { continue }
      // Later moments have delays of their own, so that they count only when as much time has passed.
      let start = max(next, entry.edited)
      let moment = entry.rule.last(after: start, through: time - (alarm - next)) ?? next
      entry.last = max(moment, entry.edited)
      seek(&entry, after: entry.last)
      // One whose turn comes only now, since the delay of this one was longer, is not late.
      entry.alarm = entry.alarm.map { max($0, time) }
      let firing = Firing(schedule: name, time: moment)
      if entry.rule.overlap == .skip, let previous = entry.fired, previous != firing, isUnfinished(previous) {
        noteMissed(entry.rule, after: max(next - 1, entry.edited), through: moment, .overlap)
      } else {
        noteMissed(entry.rule, after: max(next - 1, entry.edited), through: moment - 1, .late)
        entry.due = moment
      }
      entries[name] = entry
    }
  }

  /// The firings whose jobs are to be submitted, by schedule; ``noteFired(_:)`` ends that.
  package var pending: [Order] {
    entries.values.sorted { $0.rule.name < $1.rule.name }.compactMap { entry in entry.due.map(entry.order) }
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
    entries[name]?.order(at: time)
  }

  /// Notes that the jobs of a firing are submitted, or refused for a reason.
  package mutating func noteFired(_ firing: Firing, refusal: String? = nil) {
    guard var entry = entries[firing.schedule] else { return }
    entry.fired = firing
    entry.refusal = refusal
    if entry.due == firing.time { entry.due = nil }
    entries[firing.schedule] = entry
  }

  /// Notes that another host has submitted the jobs of a firing, unless a later one is known.
  package mutating func note(firingElsewhere firing: Firing) {
    guard let entry = entries[firing.schedule], entry.fired.map({ $0.time < firing.time }) ?? true else { return }
    entries[firing.schedule]?.fired = firing
  }

  /// Keeps a schedule from firing, or ends that; what was due meanwhile doesn't fire. False if there is no such schedule.
  package mutating func setPaused(_ isPaused: Bool, _ name: String, at time: Int64) -> Bool {
    guard let entry = entries[name] else { return false }
    if entry.isPaused && !isPaused { restart(name, at: time) }
    entries[name]?.isPaused = isPaused
    if isPaused { entries[name]?.due = nil }
    return true
  }

  /// Goes on from a moment, without looking at what was due before.
  private mutating func restart(_ name: String, at time: Int64) {
    guard var entry = entries[name] else { return }
    entry.last = time
    // It comes again when the clock gets there.
    if let due = entry.due, due > time { entry.due = nil }
    seek(&entry, after: time)
    entries[name] = entry
  }

  private func seek(_ entry: inout Entry, after moment: Int64) {
    entry.next = entry.rule.next(after: moment)
    entry.alarm = entry.next.map { alarm(of: entry.rule, at: $0) }
  }

  /// The time at which a schedule fires for a moment.
  private func alarm(of rule: ScheduleRule, at moment: Int64) -> Int64 {
    moment + delay(of: Firing(schedule: rule.name, time: moment), rule.randomDelay)
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
    /// The moment of a firing whose jobs may not be submitted yet; the next run makes it again.
    package let due: Int64?
    /// The moment that is due next by the rule of this run; nil if there is none.
    package let next: Int64?
    /// The moments of that rule, in words.
    package let moments: String?
    /// The reason why the jobs of the last firing were refused.
    package let refusal: String?
    package let isPaused: Bool

    package init(
      last: Int64, fired: Int64?, due: Int64? = nil, next: Int64? = nil, moments: String? = nil, refusal: String? = nil,
      isPaused: Bool = false
    ) {
      self.last = last
      self.fired = fired
      self.due = due
      self.next = next
      self.moments = moments
      self.refusal = refusal
      self.isPaused = isPaused
    }
  }

  /// The places of all schedules, for ``replace(_:records:at:isContinued:)`` of the next run.
  package var records: [String: Record] { entries.mapValues(\.place) }

  /// A schedule as people see it.
  package struct Overview: Sendable, Equatable {
    package let name: String
    /// Nil if it never fires again, or is paused.
    package let next: Int64?
    package let last: Firing?
    /// The reason why the jobs of the last firing were refused; nil if they were not.
    package let refusal: String?
    package let isPaused: Bool
  }

  /// All schedules, by name.
  package var overview: [Overview] {
    entries.values.sorted { $0.rule.name < $1.rule.name }.map { entry in
      Overview(
        name: entry.rule.name, next: entry.isPaused ? nil : entry.alarm, last: entry.fired, refusal: entry.refusal,
        isPaused: entry.isPaused)
    }
  }
}
