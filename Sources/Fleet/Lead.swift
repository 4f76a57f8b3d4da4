import JobSchedule
import Jobs

/// The lead's part of a host: loads the ledger, and then in rounds reads news and writes assignments.
///
/// A round that would only read deletes nothing, and needs no commit: the next one that writes deletes what was read.
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
  private var removal = Removal.none
  /// The numbers of jobs that have ended and were not told of, by their states.
  private var ends: [JobState: Int] = [:]
  private var suspects: [(host: Int, silence: Silence)] = []
  private var hasHint = true
  /// The numbers of news that were read and are still in the inbox, and the timeline of the server that had them.
  package private(set) var knownNews: [Int64] = []
  private var timeline: Int64?
  /// True if the next round is to be written though it decides nothing, so that news which were read are deleted.
  private var isToDelete = false
  /// The last of the news that a beat told of.
  private var lastTold: Int64?
  /// True if there are jobs that came from the ledger since the last round.
  private var hasJustRead = false
  private var lastRound = Int64.min / 2
  /// The time from the last round to the next: what came alone goes on at once, and what comes in masses comes together.
  private var pause: Int64 = 0
  private var floor: NewsFloor
  /// The earliest time at which starts that do not count any more are dropped.
  private var nextStartRemoval = Int64.min

  /// The milliseconds between two removals of starts.
  private static let startRemovalPause: Int64 = 60_000
  /// With so many news known, none are read without being deleted.
  private static let knownNewsLimit = 100

  private enum Removal: Sendable {
    case none
    case wanted([FinalJob])
    /// So many jobs are being removed.
    case underWay(Int)
  }

  init(term: Int64, times: FleetTimes, agingStep: Int64, limits: [ResourceLimits]) {
    self.term = term
    self.times = times
    self.agingStep = agingStep
    self.limits = limits
    floor = NewsFloor(patience: times.writerPatience)
  }

  /// Applies new limits of queues and types.
  mutating func setLimits(_ limits: [ResourceLimits], at now: Moment) {
    self.limits = limits
    // Which jobs may wait on hosts is decided when they come.
    if assigner?.setLimits(limits, at: now) == false { noteLostAnswer() }
  }

  /// Notes that there may be news.
  mutating func noteHint() { hasHint = true }

  /// Notes that the inbox is not empty: something was not told of, or lies there that was read, or leads nowhere any more.
  ///
  /// - Parameter last: the number of the last in it; nil if the inbox may be another one.
  mutating func noteNewsInInbox(last: Int64?) {
    hasHint = true
    if last == nil || last == lastTold || last.map(knownNews.contains) == true { isToDelete = true }
    lastTold = last
  }

  /// The number up to which news have been read, and nothing comes late any more.
  var newsFloor: Int64 { floor.number }

  /// Notes hosts that are to be fenced for a silence.
  mutating func suspect(_ hosts: [Int], _ silence: Silence) {
    for host in hosts where !suspects.contains(where: { $0.host == host }) { suspects.append((host, silence)) }
  }

  /// Has final jobs removed, as far as nothing needs their records; false if others are on their way.
  mutating func remove(_ jobs: [FinalJob]) -> Bool {
    guard case .none = removal else { return false }
    removal = .wanted(jobs)
    return true
  }

  /// Ends the removal under way, and returns how many jobs it was to remove; nil if there is none.
  mutating func endRemoval() -> Int? {
    guard case .underWay(let count) = removal else { return nil }
    removal = .none
    return count
  }

  /// Hands out the numbers of the jobs that have ended since the last time, by their states.
  mutating func takeEnds() -> [JobState: Int] {
    defer { ends = [:] }
    return ends
  }

  private mutating func count(_ states: some Sequence<JobState?>) {
    for state in states { if let state, state.isFinal { ends[state, default: 0] += 1 } }
  }

  /// The lead's choice when its slot is idle.
  enum Next {
    /// A request under the receipt of the lead's slot.
    case write((Receipt) -> LedgerRequest)
    case read(LedgerRequest)
    /// Nothing before a time; nil until there are news.
    case rest(until: Moment?)

    /// True if it asks for something.
    var isRequest: Bool { if case .rest = self { false } else { true } }

    /// The request, if there is one, under a receipt if it needs that.
    func request(under receipt: () -> Receipt) -> LedgerRequest? {
      switch self {
      case .write(let make): make(receipt())
      case .read(let request): request
      case .rest: nil
      }
    }
  }

  /// The next request.
  mutating func next(at now: Moment) -> Next {
    guard let isLoading = assigner?.isLoading else {
      let first = FirstJobs(times.jobsAtOnce, agingStep: agingStep)
      return .write { .load(first: first, $0) }
    }
    if let suspect = suspects.first {
      return .write { .fence(host: suspect.host, silence: suspect.silence, $0) }
    }
    // Between two rounds, so that neither has changed one of these jobs without the other's knowledge.
    if case .wanted(let jobs) = removal, !isLoading, let unneeded = assigner?.unneeded(jobs) {
      removal = .underWay(unneeded.count)
      return .write { .remove(unneeded, $0) }
    }
    if !isLoading { return nextRound(at: now) }
    if hasJustRead {
      let next = nextRound(at: now)
      if next.isRequest {
        hasJustRead = false
        return next
      }
    }
    hasJustRead = true
    if let part = assigner?.loading?.next(limit: times.jobsAtOnce) { return .write(part) }
    assigner?.takeLatecomers(limit: times.jobsAtOnce, at: now)
    // At once, but after what is due by now.
    return .rest(until: now)
  }

  private mutating func nextRound(at now: Moment) -> Next {
    let earliest = lastRound + pause
    if now.steady < earliest { return .rest(until: Moment(steady: earliest, wall: .max)) }
    assigner?.advance(to: now)
    if assigner?.isLoading == false {
      assigner?.answerQuestions(at: now)
      assigner?.revertAgain(at: now)
    }
    guard var round = assigner?.nextRound(floor: floor.number, at: now), hasHint || !round.isEmpty else {
      let alarm = assigner?.nextAlarm
      if alarm?.steady == nil && alarm?.wall == nil { return .rest(until: nil) }
      return .rest(until: Moment(steady: alarm?.steady ?? .max, wall: alarm?.wall ?? .max))
    }
    hasHint = false
    lastRound = now.steady
    if round.isEmpty && !isToDelete && knownNews.count < Self.knownNewsLimit {
      return .read(.readNews(above: floor.number, besides: knownNews))
    }
    isToDelete = false
    round.knownNews = knownNews
    round.asksForWriters = floor.asksForWriters(at: now.steady)
    if !round.starts.isEmpty, now.steady >= nextStartRemoval {
      round.forgetsStarts = true
      nextStartRemoval = now.steady + Self.startRemovalPause
    }
    self.round = round
    return .write { [round] in .round(round, $0) }
  }

  /// Takes in an answer.
  ///
  /// - Returns: the hosts to be told that they have runs.
  mutating func handle(_ reply: LedgerReply, at now: Moment) -> [Int] {
    switch reply {
    case .loaded(let state):
      assigner = Assigner(state, agingStep: agingStep, limits: limits, at: now)
      floor = NewsFloor(patience: times.writerPatience)
      hasHint = true
      hasJustRead = true
      knownNews = []
    case .loadedJobs(let jobs): assigner?.load(jobs, at: now)
    case .loadedRest(let known, let orders):
      assigner?.finishReading(known: known, orders: orders)
      assigner?.takeLatecomers(limit: times.jobsAtOnce, at: now)
    case .tookOver(let lost):
      assigner?.fence(suspects.removeFirst().host, lost, at: now)
      // Orders may have waited for the ends of these runs, and are looked at with the news.
      hasHint = true
    case .refused:
      // It has beaten since, or is gone by another way.
      if !suspects.isEmpty { suspects.removeFirst() }
    case .news(let news, let horizon):
      let hosts = round?.addressees ?? []
      noteWritten(news, horizon, at: now)
      return hosts.sorted()
    case .readNews(let news, let timeline):
      let mayHaveMissed = note(timeline)
      knownNews += news.lazy.map(\.number)
      take(news, besides: 0, at: now)
      if mayHaveMissed { noteLostAnswer() }
    default: break
    }
    return []
  }

  /// Takes in that a round was written, and what it has read.
  private mutating func noteWritten(
    _ news: [(number: Int64, news: News)], _ horizon: TransactionHorizon, at now: Moment
  ) {
    let decisions = (round?.runs.count ?? 0) + (round?.changes.count ?? 0)
    if let round {
      assigner?.noteWritten(round, at: now)
      count(round.changes.lazy.map(\.end))
    }
    round = nil
    let mayHaveMissed = note(horizon.timeline)
    let before = floor.number
    // The known ones are deleted with the others.
    floor.note((mayHaveMissed ? [] : knownNews) + news.lazy.map(\.number), horizon, at: now.steady)
    // It was that of another server: there may be news below it.
    if floor.number < before { hasHint = true }
    knownNews = []
    take(news, besides: decisions, at: now)
    if mayHaveMissed { noteLostAnswer() }
  }

  /// Notes the timeline of the server that has answered; true if it may have given the numbers of known news to others.
  private mutating func note(_ timeline: Int64) -> Bool {
    defer { self.timeline = timeline }
    return self.timeline.map { $0 != timeline } ?? false && !knownNews.isEmpty
  }

  /// - Parameter decisions: the number of the jobs that the round was about which has read them.
  private mutating func take(_ news: [(number: Int64, news: News)], besides decisions: Int, at now: Moment) {
    let weight = news.reduce(decisions) { $0 + $1.news.jobCount }
    pause = weight > 1 ? min(times.round, Int64(weight)) : 0
    for (_, one) in news {
      assigner?.apply(one, at: now)
      if case .ended(let ended) = one { count(ended.lazy.map { JobState.running.after($0.event) }) }
      // Whatever else it knows and has just read is in the tables as well.
      if case .changed = one { noteLostAnswer() }
    }
    // The rows that came with orders are as new as all other news.
    if assigner?.isLoading == false { assigner?.obeyOrders(at: now) }
  }

  /// Takes in that a request was written and its answer is lost: what it read is gone, so it reads everything anew.
  mutating func noteLostAnswer() {
    assigner = nil
    round = nil
  }
}
