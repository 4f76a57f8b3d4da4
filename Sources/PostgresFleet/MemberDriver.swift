package import Dispatch
package import Fleet
package import JobSchedule
package import StoreInterface
import Synchronization
import SystemSupport

/// A host of a fleet at work: owns its connections and timers, tells its ``FleetMember`` what happens, and does what that
/// decides.
///
/// Each channel has a connection and a queue for its requests, which block. Everything else happens on one queue.
package final class MemberDriver: Sendable {
  /// A report to the host's owner, on the driver's queue.
  package enum Report: Sendable {
    /// The host has joined, with this number.
    case joined(Int)
    /// Start handlers; each end is told by the store's participant or by ``MemberEvent/finished(_:)``.
    case assigned([Run])
    case member(MemberReport)
    /// These ends are on record; on the queue of the store's transaction.
    case recorded([EndedRun])
    /// A beat was answered that was sent at a time of the steady clock.
    case beaten(Beat, sentAt: Int64)
    /// A beat had no answer.
    case missed
    /// There was a hint: answers to orders may be there, or jobs of this host's spool may have ended elsewhere.
    case hinted(MemberHint)
    /// The host has ended: it writes nothing more, and whoever goes on does so with a new driver.
    case end(MemberEnd)
  }

  private struct Channel: Sendable {
    let ledger: PostgresLedger
    let queue: DispatchQueue
  }

  private struct State {
    var member: FleetMember?
    var channels: [MemberChannel: Channel] = [:]
    var timers: [MemberTimer: (timer: OneShotTimer, due: Int64)] = [:]
    /// Events that came before the host had joined.
    var early: [MemberEvent] = []
    /// Hints that are still to be sent, by what is queued on the channel of beats if there are any.
    var hints: Hints?
    var participant: StoreParticipant?
    var isStopped = false
  }

  private let database: FleetDatabase
  private let host: FleetHost
  private let times: FleetTimes
  private let agingStep: Int64
  private let queue: DispatchQueue
  private let log: @Sendable (StoreError) -> Void
  private let report: @Sendable (Report) -> Void
  private let state = Mutex(State())

  /// The time for an answer to a request to join, which waits for a standby as others do. One that is given up still waits
  /// on the server; so it is long, and ends at all in case that another server is the primary by then.
  private static let joinLimit = Duration.seconds(3_600)
  /// The longest pause between two attempts to join, in milliseconds.
  private static let longestPause: Int64 = 5_000

  /// - Parameters:
  ///   - host: the host; the caller holds the lock of its root.
  ///   - agingStep: the milliseconds of waiting that one step of priority is worth.
  ///   - queue: a serial queue, on which the member decides and reports are made.
  ///   - log: told of the reasons why requests had no answer.
  ///   - report: told what the owner has to do.
  package init(
    _ database: FleetDatabase, host: FleetHost, times: FleetTimes = FleetTimes(), agingStep: Int64,
    queue: DispatchQueue, log: @escaping @Sendable (StoreError) -> Void = { _ in },
    report: @escaping @Sendable (Report) -> Void
  ) {
    self.database = database
    self.host = host
    self.times = database.isPooled ? times.withoutHints : times
    self.agingStep = agingStep
    self.queue = queue
    self.log = log
    self.report = report
  }

  deinit { stop() }

  // MARK: From joining to the end

  /// Joins the fleet, as soon as there is a database; ends if that refuses the host for good.
  package func start() { join(pause: times.retry) }

  /// - Parameter pause: the time until the next attempt, if this one fails.
  private func join(pause: Int64) {
    let (database, host, log) = (database, host, log)
    DispatchQueue.global().async { [weak self] in
      let sentAt = Moment.now().steady
      let joined: Result<(Int, FleetClock), LedgerError> = Result { () throws(LedgerError) in
        let ledger: PostgresLedger
        do throws(StoreError) { ledger = try database.ledger("join", answerLimit: Self.joinLimit, log: log) } catch {
          log(error)
          throw .unavailable
        }
        guard case .joined(let number, let time) = try ledger.perform(.join(host)) else { throw .contradiction }
        return (number, FleetClock(serverTime: time, receivedAt: Moment.now().steady))
      }
      guard let self else { return }
      queue.async { self.noteJoined(joined, sentAt: sentAt, pause: pause) }
    }
  }

  private func noteJoined(_ joined: Result<(Int, FleetClock), LedgerError>, sentAt: Int64, pause: Int64) {
    do throws(StoreError) {
      if case .failure(.impossible(let reason)) = joined { return perform(.end(.refused(reason))) }
      guard case .success((let number, let clock)) = joined else {
        let delay = Duration.milliseconds(pause / 2 + Int64.random(in: 0...pause / 2))
        queue.async(after: delay) { [weak self] in
          guard let self, !state.withLock({ $0.isStopped }) else { return }
          join(pause: min(pause * 2, Self.longestPause))
        }
        return
      }
      let channels = try connections(of: number)
      let early = state.withLock { state -> [MemberEvent] in
        if state.isStopped { return [] }
        state.channels = channels
        state.member = FleetMember(
          number: number, joinSentAt: sentAt, clock: clock, times: times, agingStep: agingStep)
        defer { state.early = [] }
        return state.early
      }
      report(.joined(number))
      for event in [.beatDue] + early { take(event) }
    } catch { log(error) }
  }

  private func connections(of number: Int) throws(StoreError) -> [MemberChannel: Channel] {
    var channels: [MemberChannel: Channel] = [:]
    for channel in MemberChannel.allCases {
      let queue = DispatchQueue(label: "fleet.\(channel)")
      var listener: PostgresLedger.HintListener?
      if channel == .beat { listener = .init(on: queue) { [weak self] in self?.note($0) } }
      // A beat without an answer counts as missed before the lease ends.
      let limit: Duration? = channel == .beat ? .milliseconds(times.stop * 3 / 4) : nil
      let ledger = try database.ledger("\(channel)", of: number, answerLimit: limit, listener: listener, log: log)
      channels[channel] = Channel(ledger: ledger, queue: queue)
    }
    return channels
  }

  /// Ends, and gives what has not ended to others at once.
  package func leave() throws(LedgerError) {
    let (number, database, log) = (state.withLock { $0.member?.number }, database, log)
    stop()
    guard let number else { return }
    let ledger: PostgresLedger
    do throws(StoreError) { ledger = try database.ledger("leave", log: log) } catch {
      log(error)
      throw .unavailable
    }
    defer { ledger.close() }
    _ = try ledger.perform(.bury(root: host.root, host: number))
    ledger.hintLead()
  }

  /// Ends without a word to the database: others notice, or a successor on the same root buries it. Safe to repeat.
  package func stop() {
    let channels = state.withLock { state in
      state.isStopped = true
      state.member = nil
      for (_, entry) in state.timers { entry.timer.cancel() }
      state.timers = [:]
      defer { state.channels = [:] }
      return state.channels
    }
    // A request under way is waited for on its own queue.
    for (_, channel) in channels { channel.queue.async { channel.ledger.close() } }
  }

  // MARK: Events

  /// Tells the member of an event.
  package func handle(_ event: MemberEvent) { queue.async { [weak self] in self?.take(event) } }

  private func take(_ event: MemberEvent) {
    let actions = state.withLock { state -> [MemberAction] in
      if state.isStopped { return [] }
      guard state.member != nil else {
        state.early.append(event)
        return []
      }
      return state.member?.handle(event, at: Moment.now().steady) ?? []
    }
    var runs: [Run] = []
    for action in actions { if case .start(let run) = action { runs.append(run) } }
    if !runs.isEmpty { report(.assigned(runs)) }
    for action in actions { perform(action) }
  }

  /// True if the host may begin runs.
  package func mayBegin(at now: Moment) -> Bool {
    state.withLock { state in
      guard let member = state.member, !state.isStopped else { return false }
      return member.lease.phase(at: now.steady) == .alive
    }
  }

  /// This moment in the time of the fleet; nil before the host has joined, and after its end.
  package var now: Moment? { state.withLock { $0.member?.moment(at: Moment.now().steady) } }

  /// A part in all transactions of the host's store, which tells the member of the runs that they have ended.
  ///
  /// - Parameter host: the number with which it has joined.
  package func participant(_ host: Int) throws(StoreError) -> StoreParticipant {
    let participant = try database.participant(host, spool: self.host.root, log: log) { [weak self] ended in
      self?.handle(.recorded(ended))
      self?.report(.recorded(ended))
    }
    state.withLock { $0.participant = participant }
    return participant
  }

  /// Gives searches for lost answers ten more seconds, as the host is to end.
  package func limitSearches() { state.withLock { $0.participant }?.limitSearches() }

  /// The number of times that the database was asked in vain about a lost answer.
  package var searchCount: UInt64 { state.withLock { $0.participant }?.searchCount ?? 0 }

  /// The connection for reading beside the member's requests; nil before the host has joined, and after its end.
  package var reader: PostgresLedger? { state.withLock { $0.channels[.runs]?.ledger } }

  // MARK: Actions

  private func perform(_ action: MemberAction) {
    switch action {
    case .send(let request, let channel): send(request, channel)
    case .wake(let event, let delay): wake(event, after: delay)
    // Reported together before.
    case .start: break
    case .report(let one): report(.member(one))
    case .hint(let hosts, let hint): send(hint, to: hosts)
    case .end(let reason):
      stop()
      if reason == .setBack {
        log(
          StoreError(
            .setBack,
            "the fleet's database has failed over to a server that commits did not wait for, and may lack what this host "
              + "goes by: it starts anew"))
      }
      report(.end(reason))
    }
  }

  private func send(_ request: LedgerRequest, _ name: MemberChannel) {
    guard let channel = state.withLock({ $0.channels[name] }) else { return }
    channel.queue.async { [weak self] in
      let sentAt = Moment.now().steady
      let result = Result { () throws(LedgerError) in try channel.ledger.perform(request) }
      guard let self else { return }
      handle(.answered(name, result, sentAt: sentAt))
      guard name == .beat else { return }
      // Behind the event, so that the lease is known to whoever is told.
      queue.async { self.report(beatAnswered: result, sentAt: sentAt) }
    }
  }

  private func report(beatAnswered result: Result<LedgerReply, LedgerError>, sentAt: Int64) {
    switch result {
    case .success(.beaten(let beat)): report(.beaten(beat, sentAt: sentAt))
    case .failure(.fenced): break
    default: report(.missed)
    }
  }

  /// Arms a timer, unless it is armed for an earlier time.
  private func wake(_ event: MemberEvent, after delay: Int64) {
    guard let name = MemberTimer(event) else { return }
    let due = Moment.now().steady + delay
    let timer = state.withLock { state -> OneShotTimer? in
      if state.isStopped { return nil }
      if let armed = state.timers[name], armed.timer.isArmed, armed.due <= due { return nil }
      let timer = state.timers[name]?.timer ?? OneShotTimer(queue: queue)
      state.timers[name] = (timer, due)
      return timer
    }
    timer?.arm(after: .milliseconds(delay)) { [weak self] in self?.take(name.event) }
  }

  // MARK: Hints

  private func send(_ hint: MemberHint, to hosts: [Int]) {
    guard let own = state.withLock({ $0.member?.number }) else { return }
    if hosts.contains(own) { note([hint]) }
    let others = hosts.filter { $0 != own }
    if !others.isEmpty { send { $0.add(hint, to: others) } }
  }

  /// Hints to the hosts of spools that jobs of theirs have ended; a hint that is lost costs them a beat.
  package func hint(spools: Set<String>) { send { $0.add(spools: spools) } }

  /// Sends hints together with those that come until it is their turn.
  private func send(_ add: (inout Hints) -> Void) {
    let channel = state.withLock { state -> Channel? in
      guard let channel = state.channels[.beat] else { return nil }
      var hints = state.hints ?? Hints()
      add(&hints)
      defer { state.hints = hints }
      return state.hints == nil ? channel : nil
    }
    channel?.queue.async { [weak self] in
      if let hints = self?.state.withLock({ $0.hints.take() }) { channel?.ledger.send(hints) }
    }
  }

  private func note(_ hints: Set<MemberHint>) {
    for hint in hints { handle(.hinted(hint)) }
    queue.async { for hint in hints { self.report(.hinted(hint)) } }
  }
}
