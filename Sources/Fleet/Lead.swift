import JobSchedule
import Jobs

/// The lead's part of a host: loads the ledger, and then in rounds reads news and writes assignments.
///
/// A value: it is asked for its next request when its slot is idle, and told of the answer.
package struct Lead: Sendable {
  /// The term that it leads, which no other host has led or will lead.
  package let term: Int64
  private let times: FleetTimes
  private let agingStep: Int64
  private var limits: [ResourceLimits]
  /// Nil until the ledger is loaded, and again after news were lost with an answer.
  package private(set) var assigner: Assigner?
  /// The round that is under way.
  private var round: LeadRound?
  private var suspects: [Int] = []
  private var hasHint = true
  private var lastRound = Int64.min / 2
  /// News up to this number are not looked for any more.
  private var floor: Int64 = 0
  /// The highest number of news at a time; it becomes the floor when no transaction can be older.
  private var mark: (number: Int64, time: Int64)?
  private var highest: Int64 = 0

  init(term: Int64, times: FleetTimes, agingStep: Int64, limits: [ResourceLimits]) {
    self.term = term
    self.times = times
    self.agingStep = agingStep
    self.limits = limits
  }

  /// Applies new limits of queues and types.
  mutating func setLimits(_ limits: [ResourceLimits], at now: Moment) {
    self.limits = limits
    assigner?.setLimits(limits, at: now)
  }

  /// Notes that there may be news.
  mutating func noteHint() { hasHint = true }

  /// Notes hosts that are silent for so long that they are to be fenced.
  mutating func suspect(_ hosts: [Int]) { for host in hosts where !suspects.contains(host) { suspects.append(host) } }

  /// The lead's choice when its slot is idle.
  enum Next {
    case request((Receipt) -> LedgerRequest)
    /// Nothing before a time; nil until there are news.
    case rest(until: Moment?)
  }

  /// The next request.
  mutating func next(at now: Moment) -> Next {
    guard assigner != nil else { return .request { .load($0) } }
    if let suspect = suspects.first {
      let silence = times.fence
      return .request { .fence(host: suspect, silence: silence, $0) }
    }
    let earliest = lastRound + times.round
    if now.steady < earliest { return .rest(until: Moment(steady: earliest, wall: .max)) }
    assigner?.advance(to: now)
    moveFloor(at: now)
    guard let round = assigner?.nextRound(floor: floor, at: now), hasHint || !round.isEmpty else {
      let alarm = assigner?.nextAlarm
      if alarm?.steady == nil && alarm?.wall == nil { return .rest(until: nil) }
      return .rest(until: Moment(steady: alarm?.steady ?? .max, wall: alarm?.wall ?? .max))
    }
    hasHint = false
    lastRound = now.steady
    self.round = round
    return .request { .round(round, $0) }
  }

  /// Takes in an answer.
  ///
  /// - Returns: the hosts to be told that they have runs.
  mutating func handle(_ reply: LedgerReply, at now: Moment) -> [Int] {
    switch reply {
    case .loaded(let state):
      assigner = Assigner(state, agingStep: agingStep, limits: limits, at: now)
      (floor, mark, highest) = (0, nil, 0)
      suspects = []
      hasHint = true
    case .tookOver(let lost):
      assigner?.fence(suspects.removeFirst(), lost, at: now)
    case .refused:
      // It has beaten since, or is gone by another way.
      if !suspects.isEmpty { suspects.removeFirst() }
    case .news(let news):
      let hosts = round?.addressees ?? []
      if let round { assigner?.noteWritten(round, at: now) }
      round = nil
      for (number, one) in news {
        highest = max(highest, number)
        assigner?.apply(one, at: now)
      }
      // The rows that came with orders are as new as all other news.
      assigner?.obeyOrders(at: now)
      return hosts.sorted()
    default: break
    }
    return []
  }

  /// Takes in that a request was written and its answer is lost: what it read is gone, so it reads everything anew.
  mutating func noteLostAnswer() {
    assigner = nil
    round = nil
  }

  private mutating func moveFloor(at now: Moment) {
    guard let mark else {
      mark = (highest, now.steady)
      return
    }
    if now.steady - mark.time < times.longestTransaction { return }
    floor = mark.number
    self.mark = (highest, now.steady)
  }
}
