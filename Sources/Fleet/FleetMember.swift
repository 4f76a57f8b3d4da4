package import JobSchedule
import Jobs
import ObjectGraph

/// A host of the fleet from its joining to its end: a value without clock, threads or connections.
///
/// An event goes in, with the time on the host's steady clock; what is to be done comes out. The host's wall clock is of no
/// account: the time of day is that of the database, of which beats tell.
package struct FleetMember: Sendable {
  /// Its number, which is never used again.
  package let number: Int
  private let times: FleetTimes
  private let agingStep: Int64
  private var limits: [ResourceLimits] = []
  package private(set) var lease: HostLease
  private var clock: FleetClock
  package private(set) var lead: Lead?
  private var term: Int64 = 0
  private var leader: Int?
  /// The server that has answered the last beat.
  private var server: LedgerServer?
  private var candidacy = Candidacy.none

  private var slots: [MemberChannel: WritingSlot]
  private var retries: [MemberChannel: LedgerRequest] = [:]
  private var pace: BeatPace
  private var isReading = false
  private var readsAgain = false
  /// Numbers up to which it has read; later runs have higher ones than the last that it has taken.
  private var floors = BeatFloors()
  /// True if it has read a run of a job whose last attempt it knows not to be on record yet, though it is.
  private var isBehind = false

  /// Attempts that were started here, and whose ends are not durable.
  private var runs: [ManagedObjectID: Run] = [:]
  /// The orders to those among them that are to end.
  private var stopped: [Run: RunStop] = [:]
  private var finished: [EndedRun] = []
  private var flushing: [EndedRun] = []
  /// Attempts whose ends are durable: a list of runs that was read before may still name them.
  private var durable: Set<Run> = []
  private var durableBeforeRead: Set<Run> = []
  private var intake: [Intake] = []
  /// The part of it that is being written.
  private var admitting: Intake?

  private enum Intake: Sendable {
    case jobs([FleetJob], [NumberedOrder])
    case order(Order, ticket: Int64)
  }

  /// - Parameters:
  ///   - number: the number that the ledger has given it.
  ///   - joinSentAt: the time at which it asked for it.
  ///   - clock: the time of the fleet, as the answer tells it.
  ///   - agingStep: the milliseconds of waiting that one step of priority is worth.
  package init(number: Int, joinSentAt: Int64, clock: FleetClock, times: FleetTimes, agingStep: Int64) {
    self.number = number
    self.clock = clock
    self.times = times
    pace = BeatPace(times)
    self.agingStep = agingStep
    lease = HostLease(joinSentAt: joinSentAt, times: times)
    slots = [
      .flush: WritingSlot(host: number, slot: 0, life: times.slotLife),
      .intake: WritingSlot(host: number, slot: 1, life: times.slotLife),
      .lead: WritingSlot(host: number, slot: 2, life: times.slotLife),
    ]
  }

  /// True if it leads, and no request of the lead is under way.
  package var isLeadIdle: Bool { lead != nil && slots[.lead]?.isIdle == true }

  /// A time of the host's steady clock in the time of the fleet.
  package func moment(at steady: Int64) -> Moment { clock.moment(at: steady) }

  /// Returns what an event leads to.
  ///
  /// - Parameter steady: the time on the host's steady clock, in milliseconds.
  package mutating func handle(_ event: MemberEvent, at steady: Int64) -> [MemberAction] {
    if lease.phase(at: steady) == .fenced { return [] }
    if case .answered(.beat, .success(.beaten(let beat)), let sent) = event {
      clock.note(serverTime: beat.time, sentAt: sent, receivedAt: steady)
    }
    let now = moment(at: steady)
    switch event {
    case .beatDue: return beat()
    case .answered(.beat, let result, let sent): return handleBeat(result, sent, at: now)
    case .answered(.runs, let result, _): return handleRuns(result, at: now)
    case .answered(let channel, let result, _): return handle(result, channel, at: now)
    case .retryDue(let channel):
      guard let request = retries.removeValue(forKey: channel) else { return [] }
      return [.send(request, channel)]
    case .roundDue: return goOn(.lead, at: now)
    case .candidacyDue: return stand(at: now)
    case .leaseDue:
      if lease.phase(at: steady) == .doubtful { return [.report(.leaseIsDoubtful)] }
      return [.wake(.leaseDue, after: lease.end - steady)]
    case .hinted(.runs): return read()
    case .hinted(.news):
      lead?.noteHint()
      return goOn(.lead, at: now)
    // Its owner reads them.
    case .hinted(.outcomes): return []
    case .readOutcomes(let number):
      floors.outcomes = number
      return []
    case .finished(let ended):
      guard runs[ended.run.job] == ended.run else { return [] }
      finished.append(ended)
      return goOn(.flush, at: now)
    case .recorded(let ended):
      noteDurable(ended)
      return hintLead() + catchUp() + pace.noteWritten()
    case .limited(let limits):
      self.limits = limits
      lead?.setLimits(limits, at: now)
      return goOn(.lead, at: now)
    case .admit(let jobs, let orders):
      intake.append(.jobs(jobs, orders))
      return goOn(.intake, at: now)
    case .order(let order, let ticket):
      intake.append(.order(order, ticket: ticket))
      return goOn(.intake, at: now)
    case .remove(let jobs):
      guard lead?.remove(jobs) == true else { return [.report(.removed(0))] }
      return goOn(.lead, at: now)
    }
  }

  // MARK: Beats

  private mutating func beat() -> [MemberAction] {
    if !pace.begin() { return [] }
    floors.news = lead?.newsFloor ?? 0
    return [.send(.beat(host: number, above: floors), .beat)]
  }

  private mutating func handleBeat(
    _ result: Result<LedgerReply, LedgerError>, _ sent: Int64, at now: Moment
  ) -> [MemberAction] {
    let answer: Beat? = if case .success(.beaten(let beat)) = result { beat } else { nil }
    let next = pace.end(answer, sentAt: sent, at: now.steady, knownStops: stopped.count)
    switch result {
    case .failure(.fenced): return end(.fenced)
    case .failure(.impossible(let reason)): return end(.refused(reason))
    case .success(.beaten(let beat)):
      let (known, isFirst) = (server ?? beat.server, server == nil)
      server = beat.server
      let isOther = known.timeline != beat.server.timeline
      // Runs, keys and files that it knows of may be gone, and others may get their numbers.
      if isOther && !known.isReplicated { return end(.setBack) }
      for channel in slots.keys {
        slots[channel]?.timeline = beat.server.isReplicated ? nil : beat.server.timeline
      }
      if isOther { floors = BeatFloors() }
      let wasDoubtful = lease.phase(at: now.steady) != .alive
      lease.noteAnswer(toBeatSentAt: sent)
      (term, leader) = (beat.term, beat.lead)
      var actions = [next, .wake(.leaseDue, after: max(0, lease.end - now.steady))]
      // That it has joined.
      if isFirst { actions += hintLead() }
      actions += watch(beat, at: now)
      // A hint may have been lost, or none are sent.
      if beat.hasRuns(besides: stopped.count) || wasDoubtful || isOther { actions += read() }
      if beat.news != nil || isOther { lead?.noteNewsInInbox(last: isOther ? nil : beat.news) }
      return actions + goOn(.lead, at: now)
    default:
      lease.noteMissedBeat()
      return [next]
    }
  }

  /// Looks at who is silent: as the lead at everybody, else at the lead.
  private mutating func watch(_ beat: Beat, at now: Moment) -> [MemberAction] {
    // The database may have been away for others as well, and they need time to come back.
    let presence = lease.presence(at: now.steady)
    if lead != nil {
      let silences = beat.silences.map { (host: $0.host, time: min($0.time, presence)) }
      let silence = silence(beat)
      lead?.suspect(silences.filter { $0.time >= times.fence }.map(\.host), silence)
      return lookAgain(silences.map(\.time).filter { $0 < times.fence }.max())
    }
    guard beat.lead != nil, let silence = beat.leadSilence.map({ min($0, presence) }) else {
      // Nobody alive leads, which is certain.
      return stand(after: jitter, for: self.silence(beat))
    }
    return silence < times.fence ? lookAgain(silence) : stand(after: jitter, for: self.silence(beat))
  }

  /// The silence for which hosts are taken over, as a beat tells it, which rounds its time down.
  private func silence(_ beat: Beat) -> Silence { Silence(times.fence, until: beat.time + 1) }

  /// Beats once more when a silence has become too long, instead of with the next beat in turn.
  private func lookAgain(_ silence: Int64?) -> [MemberAction] {
    guard let silence, silence > 2 * times.beat else { return [] }
    return [.wake(.beatDue, after: times.fence - silence + 1)]
  }

  private var jitter: Int64 { Int64(number) * 7 % (times.jitter + 1) }

  private mutating func stand(after delay: Int64, for silence: Silence) -> [MemberAction] {
    if candidacy != .none { return [] }
    candidacy = .waiting(for: silence)
    return [.wake(.candidacyDue, after: delay)]
  }

  /// Stands for the lead. The ledger checks once more that the term is the same and the lead silent.
  private mutating func stand(at now: Moment) -> [MemberAction] {
    guard case .waiting(let silence) = candidacy else { return [] }
    guard lead == nil, let slot = slots[.lead], slot.isIdle, lease.phase(at: now.steady) == .alive else {
      candidacy = .none
      return []
    }
    let term = term
    candidacy = .asking(term: term + 1)
    return begin(.lead) { .lead(after: term, silence: silence, $0) }
  }

  // MARK: Runs

  private mutating func read() -> [MemberAction] {
    if isReading {
      readsAgain = true
      return []
    }
    isReading = true
    durableBeforeRead = durable
    return [.send(.readRuns(host: number, after: floors.runs), .runs)]
  }

  /// Reads what it could not take before.
  private mutating func catchUp() -> [MemberAction] { isBehind ? read() : [] }

  private mutating func handleRuns(_ result: Result<LedgerReply, LedgerError>, at now: Moment) -> [MemberAction] {
    isReading = false
    var actions: [MemberAction] = []
    if case .success(.runs(let read, let stops, let last)) = result {
      // What it was before the read is not among these runs any more, unless somebody else wrote it.
      let isMine = lease.phase(at: now.steady) == .alive
      isBehind = read.contains { run in runs[run.job].map { $0 != run } ?? false }
      // One that was under way when the server became another says nothing about this one's numbers.
      if isMine && !isBehind && !readsAgain { floors.runs = last }
      for run in read where isMine && runs[run.job] == nil && !durable.contains(run) {
        runs[run.job] = run
        actions.append(.start(run))
      }
      for stop in stops where runs[stop.run.job] == stop.run && stopped[stop.run] != stop {
        stopped[stop.run] = stop
        actions.append(.report(.stopped(stop)))
      }
      durable.subtract(durableBeforeRead)
    }
    if readsAgain {
      readsAgain = false
      actions += self.read()
    }
    return actions
  }

  // MARK: Writing

  private mutating func begin(
    _ channel: MemberChannel, _ make: (Receipt) -> LedgerRequest
  ) -> [MemberAction] {
    guard let request = slots[channel]?.begin(make) else { return [] }
    return [.send(request, channel)]
  }

  private mutating func begin(_ channel: MemberChannel, _ request: LedgerRequest) -> [MemberAction] {
    slots[channel]?.begin(request)
    return [.send(request, channel)]
  }

  private mutating func handle(
    _ result: Result<LedgerReply, LedgerError>, _ channel: MemberChannel, at now: Moment
  ) -> [MemberAction] {
    guard let step = slots[channel]?.handle(result) else { return [] }
    switch step {
    case .send(let request): return [.send(request, channel)]
    case .sendLater(let request):
      retries[channel] = request
      return [.wake(.retryDue(channel), after: times.retry)]
    case .impossible(let reason): return noteRefused(channel, reason) + goOn(channel, at: now)
    case .fenced: return end(.fenced)
    case .contradiction: return end(.contradiction)
    case .setBack: return end(.setBack)
    case .answered(let reply): return noteWritten(channel, reply, at: now) + goOn(channel, at: now)
    case .written: return noteWritten(channel, nil, at: now) + goOn(channel, at: now)
    }
  }

  /// - Parameter reply: nil if it is lost.
  private mutating func noteWritten(
    _ channel: MemberChannel, _ reply: LedgerReply?, at now: Moment
  ) -> [MemberAction] {
    switch channel {
    case .beat, .runs: return []
    case .flush:
      if flushing.isEmpty { return [] }
      noteDurable(flushing)
      flushing = []
      return hintLead() + catchUp() + pace.noteWritten()
    case .intake:
      defer { admitting = nil }
      if case .jobs(let jobs, _)? = admitting {
        return [.report(.admitted(jobs.map(\.id)))] + hintLead() + pace.noteWritten()
      }
      return hintLead() + pace.noteWritten()
    case .lead: return noteLead(reply, at: now)
    }
  }

  /// Does without a request that the server refuses for good; ends where something would be lost.
  private mutating func noteRefused(_ channel: MemberChannel, _ reason: String) -> [MemberAction] {
    if channel == .lead, lead?.endRemoval() != nil { return [.report(.notRemoved(because: reason))] }
    guard channel == .intake, let refused = admitting else { return end(.refused(reason)) }
    admitting = nil
    switch refused {
    case .jobs(let jobs, let orders):
      return [.report(.notAdmitted(jobs.map(\.id), because: reason))]
        + orders.map { .report(.notPlaced(ticket: $0.ticket, because: reason)) }
    case .order(_, let ticket): return [.report(.notPlaced(ticket: ticket, because: reason))]
    }
  }

  private mutating func noteDurable(_ ended: [EndedRun]) {
    for one in ended where runs[one.run.job] == one.run {
      runs[one.run.job] = nil
      stopped[one.run] = nil
    }
    durable.formUnion(ended.lazy.map(\.run))
  }

  private mutating func noteLead(_ reply: LedgerReply?, at now: Moment) -> [MemberAction] {
    if case .asking(let term) = candidacy {
      candidacy = .none
      if case .refused? = reply { return [] }
      lead = Lead(term: term, times: times, agingStep: agingStep, limits: limits)
      // Who else is silent?
      return [pace.beatAnew()]
    }
    // If its answer is lost, all that were asked for count as removed.
    if let asked = lead?.endRemoval() {
      if case .removed(let count)? = reply { return [.report(.removed(count))] }
      return [.report(.removed(asked))]
    }
    guard let reply else {
      lead?.noteLostAnswer()
      return []
    }
    let hosts = lead?.handle(reply, at: now) ?? []
    var actions: [MemberAction] = hosts.isEmpty ? [] : [.hint(hosts, .runs)]
    if case .loaded = reply { actions.append(.report(.leads)) }
    if let ends = lead?.takeEnds(), !ends.isEmpty { actions.append(.report(.ended(ends))) }
    return actions
  }

  private func hintLead() -> [MemberAction] { leader.map { [.hint([$0], .news)] } ?? [] }

  /// Makes the next request of a channel, if it is idle and there is something to do.
  private mutating func goOn(_ channel: MemberChannel, at now: Moment) -> [MemberAction] {
    guard let slot = slots[channel], slot.isIdle else { return [] }
    if slot.isOld { return begin(channel, slot.replacement) }
    switch channel {
    case .beat, .runs: return []
    case .flush:
      if finished.isEmpty { return [] }
      (flushing, finished) = (finished, [])
      let ended = flushing
      return begin(.flush) { .flush(ended, $0) }
    case .intake:
      if intake.isEmpty { return [] }
      let next = intake.removeFirst()
      admitting = next
      switch next {
      case .jobs(let jobs, let orders): return begin(.intake) { .admit(jobs, placing: orders, $0) }
      case .order(let order, let ticket): return begin(.intake) { .order(order, ticket: ticket, $0) }
      }
    case .lead:
      switch lead?.next(at: now) {
      case .write(let make)?: return begin(.lead, make)
      case .read(let request)?: return begin(.lead, request)
      case .rest(until: let time?)?:
        let delay = min(
          time.steady == .max ? .max : time.steady - now.steady, time.wall == .max ? .max : time.wall - now.wall)
        return [.wake(.roundDue, after: max(0, delay))]
      case .rest(until: nil)?, nil: return []
      }
    }
  }

  private mutating func end(_ reason: MemberEnd) -> [MemberAction] {
    lease.noteFence()
    lead = nil
    return [.end(reason)]
  }
}
