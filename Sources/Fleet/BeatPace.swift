/// When a host beats.
///
/// Where hints tell what there is to read, the time from one beat to the next is always the same. Where none arrive, beats come
/// soon after something new, and ever later while they tell of nothing.
///
/// One that met no database comes again ``FleetTimes/retry`` after it was sent, since the silence of others counts from the
/// first that is answered behind an absence.
struct BeatPace: Sendable {
  private let times: FleetTimes
  /// The time from an answered beat to the next, in milliseconds.
  private var pause: Int64
  /// The numbers that the last beat told of; what lies there is nothing new.
  private var known: (news: Int64?, outcome: Int64?) = (nil, nil)
  private var isBeating = false
  private var beatsAgain = false

  init(_ times: FleetTimes) {
    self.times = times
    pause = times.beat
  }

  /// Begins a beat; false if one is under way.
  mutating func begin() -> Bool {
    defer { isBeating = true }
    return !isBeating
  }

  /// Ends a beat; returns when the next one is due.
  ///
  /// - Parameters:
  ///   - beat: its answer, if one came.
  ///   - knownStops: the number of the host's runs that are known to be told to end.
  mutating func end(_ beat: Beat?, sentAt sent: Int64, at now: Int64, knownStops: Int) -> MemberAction {
    defer { (isBeating, beatsAgain) = (false, false) }
    guard let beat else { return wake(at: sent + times.retry, now) }
    let isNew = beat.hasRuns(besides: knownStops) || tells(beat)
    known = (beat.news, beat.outcome)
    if let ask = times.ask { pause = isNew ? ask : min(2 * pause, times.beat) }
    return wake(at: sent + pause, now)
  }

  private func wake(at due: Int64, _ now: Int64) -> MemberAction {
    .wake(.beatDue, after: beatsAgain ? 0 : max(0, due - now))
  }

  private func tells(_ beat: Beat) -> Bool {
    beat.news != nil && beat.news != known.news || beat.outcome != nil && beat.outcome != known.outcome
  }

  /// Has a beat come at once, also behind one that is under way, which was sent too early.
  mutating func beatAnew() -> MemberAction {
    beatsAgain = isBeating
    return .wake(.beatDue, after: 0)
  }

  /// Has a beat come soon, since something was written that others answer, where no hint tells of that.
  mutating func noteWritten() -> [MemberAction] {
    guard let ask = times.ask else { return [] }
    // The beat under way doubles it.
    pause = isBeating ? ask / 2 : ask
    return isBeating ? [] : [.wake(.beatDue, after: ask)]
  }
}
