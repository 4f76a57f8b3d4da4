import Fleet
import JobSchedule
import Jobs
import ObjectGraph

/// The requests as statements, in the order in which PostgreSQL gets them.
extension MemoryLedger {
  typealias Statement = (Transaction) throws -> Void

  func statements(of request: LedgerRequest) -> [Statement] {
    switch request {
    case .join(let host): buryStatements(root: host.root) + [{ try self.enter(host, $0) }]
    case .beat(let host, let floors): [{ try self.beat(host, above: floors, $0) }]
    case .readRuns(let host, let number): [{ self.readRuns(of: host, after: number, $0) }]
    case .admit(let jobs, let orders, let receipt):
      [fence(receipt)]
        + orders.map { one in { try self.place(one.order, ticket: one.ticket, by: receipt.host, $0) } }
        + [{ try self.admit(jobs, $0) }]
    case .order(let order, let ticket, let receipt):
      [
        fence(receipt),
        { transaction in
          if case .pause(let name, let isPaused) = order {
            try self.paused.write(name, isPaused ? true : nil, for: transaction.id)
          }
        }, { try self.place(order, ticket: ticket, by: receipt.host, $0) },
      ]
    case .flush(let ended, let receipt):
      [
        fence(receipt), { try self.deleteRuns(ended, $0) }, { try self.record(ended, $0) },
        { try self.tell(.ended(ended), $0) },
      ]
    case .replaceSlot(let host, let old, let new): replaceSlot(host, old: old, new: new)
    case .outcome(let receipt): [{ try self.tellOutcome(of: receipt, $0) }]
    case .lead(let term, let silence, let receipt): leadStatements(after: term, silence: silence, receipt)
    case .load(let first, let receipt): [fence(receipt), { try self.load(first, $0) }]
    case .loadJobs(let jobs, let receipt): [fence(receipt), { self.loadJobs(jobs, $0) }]
    case .loadRest(let names, let receipt): [fence(receipt), { self.loadRest(names, $0) }]
    case .round(let round, let receipt):
      [
        fence(receipt), { try self.write(round, $0) },
        // A job that the round has cancelled is not to be waited for.
        { try self.readNews(above: round.floor, $0) }, { self.addKnown($0) },
      ]
    case .remove(let jobs, let receipt): [fence(receipt), { try self.remove(jobs, $0) }]
    case .fence(let host, let silence, let receipt): [fence(receipt)] + takeover({ _ in [host] }, silence: silence)
    case .bury(let root): buryStatements(root: root)
    }
  }

  // MARK: Hosts

  private func enter(_ host: FleetHost, _ transaction: Transaction) throws {
    lastHost += 1
    let number = lastHost
    try hosts.write(number, Host(host: host), for: transaction.id)
    try beats.write(number, transaction.start, for: transaction.id)
    for slot in 0..<3 { try sessions.write(SessionKey(host: number, slot: slot), 0, for: transaction.id) }
    if lead.row(0, for: transaction.id) == nil { try lead.write(0, (0, nil), for: transaction.id) }
    try tell(.joined(number, host), transaction)
    transaction.reply = .joined(host: number, time: now)
  }

  private func beat(_ host: Int, above floors: BeatFloors, _ transaction: Transaction) throws {
    let id = transaction.id
    try beats.lock(host, for: id)
    guard let before = beats.row(host, for: id) else { throw Undone.failed(.fenced) }
    let isAhead = before > transaction.start + 1_000
    try beats.write(host, isAhead ? transaction.start : max(before, transaction.start), for: id)
    let (term, leader) = lead.row(0, for: id) ?? (0, nil)
    let isLead = leader == host
    var silences: [(host: Int, time: Int64)] = []
    if isLead {
      for (other, seen) in beats.all(for: id) where other != host { silences.append((other, now - seen)) }
      silences.sort { ($1.time, $0.host) < ($0.time, $1.host) }
    }
    transaction.reply = .beaten(
      Beat(
        time: now, server: server, term: term, lead: leader,
        leadSilence: leader.flatMap { beats.row($0, for: id) }.map { now - $0 }, silences: silences,
        runCount: runs(of: host, transaction).count { runNumbers[$0, default: 0] > floors.runs },
        stopCount: stops(of: host, transaction).count,
        hasNews: isLead && inbox.all(for: id).contains { $0.key > floors.news },
        paused: Set(paused.all(for: id).map(\.key))))
  }

  private func replaceSlot(_ host: Int, old: Int, new: Int) -> [Statement] {
    [
      { transaction in
        try self.hosts.lock(host, for: transaction.id)
        guard self.hosts.row(host, for: transaction.id)?.isAlive == true else { throw Undone.failed(.fenced) }
      },
      { transaction in
        let key = SessionKey(host: host, slot: old)
        try self.sessions.lock(key, for: transaction.id)
        // It was replaced before, and this is a repetition.
        guard self.sessions.row(key, for: transaction.id) != nil else { throw Undone(result: .success(.written)) }
        try self.sessions.write(key, nil, for: transaction.id)
      },
      { try self.sessions.write(SessionKey(host: host, slot: new), 0, for: $0.id) },
    ]
  }

  // MARK: The fence

  private func fence(_ receipt: Receipt) -> Statement {
    { transaction in
      let key = SessionKey(host: receipt.host, slot: receipt.slot)
      try self.sessions.lock(key, for: transaction.id)
      guard self.sessions.row(key, for: transaction.id) == receipt.number - 1 else { throw Undone.failed(.stale) }
      try self.sessions.write(key, receipt.number, for: transaction.id)
    }
  }

  private func tellOutcome(of receipt: Receipt, _ transaction: Transaction) throws {
    let key = SessionKey(host: receipt.host, slot: receipt.slot)
    try sessions.lock(key, for: transaction.id)
    guard let number = sessions.row(key, for: transaction.id), number >= receipt.number - 1 else {
      throw Undone.failed(.fenced)
    }
    transaction.reply = .outcome(isWritten: number >= receipt.number)
  }

  /// - Parameter silence: the time for which the hosts must have been silent; nil if they are certainly dead.
  private func takeover(_ dead: @escaping (Transaction) -> [Int], silence: Int64?) -> [Statement] {
    [
      { transaction in
        transaction.dead = dead(transaction)
        for host in transaction.dead {
          // A beat waits for this row, and then finds none.
          try self.beats.lock(host, for: transaction.id)
          guard let silence else { continue }
          guard let seen = self.beats.row(host, for: transaction.id), seen <= transaction.start - silence else {
            throw Undone.refused
          }
        }
        for host in transaction.dead { try self.beats.write(host, nil, for: transaction.id) }
      },
      { transaction in
        if !self.endsBackends { return }
        for other in self.open.values where transaction.dead.contains(other.host) && other.id != transaction.id {
          self.abort(other)
        }
      },
      { transaction in
        for host in transaction.dead {
          try self.hosts.lock(host, for: transaction.id)
          guard var row = self.hosts.row(host, for: transaction.id) else { continue }
          row.isAlive = false
          try self.hosts.write(host, row, for: transaction.id)
        }
      },
      { transaction in
        // A statement that has waited for a row sees no rows that were inserted meanwhile.
        let doomed =
          transaction.doomed
          ?? self.sessions.all(for: transaction.id).map(\.key).filter { transaction.dead.contains($0.host) }
        transaction.doomed = doomed
        for key in doomed { try self.sessions.write(key, nil, for: transaction.id) }
        for (key, _) in self.orders.all(for: transaction.id) where transaction.dead.contains(key.host) {
          try self.orders.write(key, nil, for: transaction.id)
        }
      },
      { transaction in
        let lost = try transaction.dead.flatMap { try self.deleteRuns(of: $0, transaction) }
        transaction.reply = .tookOver(lost)
      },
    ]
  }

  private func buryStatements(root: String) -> [Statement] {
    let dead = { (transaction: Transaction) in
      self.hosts.all(for: transaction.id).filter { $0.row.isAlive && $0.row.host.root == root }.map(\.key)
    }
    return takeover(dead, silence: nil) + [
      { transaction in
        for host in transaction.dead { try self.tell(.buried(host), transaction) }
        transaction.reply = .written
      }
    ]
  }

  private func leadStatements(after term: Int64, silence: Int64, _ receipt: Receipt) -> [Statement] {
    let old = { (transaction: Transaction) -> [Int] in
      guard let host = self.lead.row(0, for: transaction.id)?.host,
        self.hosts.row(host, for: transaction.id)?.isAlive == true
      else { return [] }
      return [host]
    }
    return [
      fence(receipt),
      { transaction in
        try self.lead.lock(0, for: transaction.id)
        guard let row = self.lead.row(0, for: transaction.id), row.term == term, row.host != receipt.host else {
          throw Undone.refused
        }
      },
    ] + takeover(old, silence: silence) + [
      { transaction in
        try self.lead.write(0, (term + 1, receipt.host), for: transaction.id)
        transaction.reply = .leads(term: term + 1)
      }
    ]
  }

  // MARK: Jobs and runs

  private func runs(of host: Int, _ transaction: Transaction) -> [Run] {
    runs.all(for: transaction.id).lazy.map(\.row).filter { $0.host == host }.sorted { $0.job.key < $1.job.key }
  }

  private func readRuns(of host: Int, after number: Int64, _ transaction: Transaction) {
    let numbers = runs(of: host, transaction).map { (run: $0, number: runNumbers[$0, default: 0]) }
      .filter { $0.number > number }.sorted { $0.number < $1.number }
    transaction.reply = .runs(
      numbers.map(\.run), stops: stops(of: host, transaction), last: numbers.last?.number ?? number)
  }

  private func stops(of host: Int, _ transaction: Transaction) -> [RunStop] {
    runs(of: host, transaction).compactMap { stop(of: $0, transaction) }
  }

  private func stop(of run: Run, _ transaction: Transaction) -> RunStop? {
    let stop = stops.row(run.job, for: transaction.id)
    return stop?.run == run ? stop : nil
  }

  private func deleteRuns(of host: Int, _ transaction: Transaction) throws -> [Run] {
    let lost = runs(of: host, transaction)
    for run in lost {
      let stop = stop(of: run, transaction)
      try runs.write(run.job, nil, for: transaction.id)
      try change(run.job, transaction) { job in
        job.attempt = run.attempt
        if let stop, stop.event != .interrupted { self.tell(&job, stop.event, stop.reason ?? job.stop?.reason) }
      }
    }
    return lost
  }

  // MARK: Orders

  private func place(_ order: Order, ticket: Int64, by host: Int, _ transaction: Transaction) throws {
    let key = OrderKey(host: host, ticket: ticket)
    try orders.write(key, PlacedOrder(host: host, ticket: ticket, order: order, jobs: []), for: transaction.id)
    lastNews += 1
    try inbox.write(
      lastNews, .ordered(PlacedOrder(host: host, ticket: ticket, order: order, jobs: [])), for: transaction.id)
  }

  /// The order with the rows of its jobs as they are now; nil if it is gone with its host.
  private func withRows(_ placed: PlacedOrder, _ transaction: Transaction) -> PlacedOrder? {
    let key = OrderKey(host: placed.host, ticket: placed.ticket)
    guard var order = orders.row(key, for: transaction.id) else { return nil }
    order.jobs = order.order.jobs.sorted { $0.key < $1.key }.compactMap { jobs.row($0, for: transaction.id) }
    return order
  }

  private func change(
    _ id: ManagedObjectID, _ transaction: Transaction, _ body: (inout FleetJob) -> Void
  ) throws {
    try jobs.lock(id, for: transaction.id)
    guard var job = jobs.row(id, for: transaction.id) else { throw Undone.failed(.contradiction) }
    body(&job)
    try jobs.write(id, job, for: transaction.id)
  }

  private func admit(_ new: [FleetJob], _ transaction: Transaction) throws {
    var admitted: [FleetJob] = []
    for var job in new {
      try names.lock(job.name, for: transaction.id)
      if names.row(job.name, for: transaction.id) != nil { continue }
      job.created = transaction.start
      try names.write(job.name, job.id, for: transaction.id)
      try jobs.write(job.id, job, for: transaction.id)
      admitted.append(job)
    }
    if !admitted.isEmpty { try tell(.admitted(admitted, known: [:]), transaction) }
  }

  private func deleteRuns(_ ended: [EndedRun], _ transaction: Transaction) throws {
    for one in ended {
      try runs.lock(one.run.job, for: transaction.id)
      guard runs.row(one.run.job, for: transaction.id) == one.run else { throw Undone.failed(.contradiction) }
      try runs.write(one.run.job, nil, for: transaction.id)
    }
  }

  private func record(_ ended: [EndedRun], _ transaction: Transaction) throws {
    for one in ended {
      let stop = stop(of: one.run, transaction)
      try change(one.run.job, transaction) { job in
        job.attempt = one.run.attempt
        // Unless an operator has held it already, it is held for its replacement.
        if one.event == .held, let stop, stop.event == .interrupted, job.state != .held {
          self.tell(&job, .held, stop.reason)
        }
        let state = JobState.running.after(one.event) ?? job.state
        if ![.quarantined, .held].contains(job.state) || state != .available { job.state = state }
        job.retryTime = one.retryTime
        // What an attempt that only ended early has saved stays.
        if one.event != .interrupted { job.isPartial = !one.isReverted && (!state.isFinal || state == .quarantined) }
        // The lead may die before it has done it.
        if let stop, stop.event != .interrupted, one.event == .interrupted || one.event == .failed {
          self.tell(&job, stop.event, stop.reason ?? job.stop?.reason)
        }
      }
      if one.event == .succeeded {
        let before = effects.row(one.run.job, for: transaction.id) ?? []
        try effects.write(one.run.job, before + [one.run], for: transaction.id)
      }
    }
  }

  // MARK: The lead

  private func tell(_ news: News, _ transaction: Transaction) throws {
    lastNews += 1
    try inbox.write(lastNews, news, for: transaction.id)
  }

  private func readNews(above floor: Int64, _ transaction: Transaction) throws {
    var news: [(number: Int64, news: News)] = []
    for (number, row) in inbox.all(for: transaction.id) where number > floor {
      try inbox.write(number, nil, for: transaction.id)
      switch row {
      case .ordered(let placed):
        if let order = withRows(placed, transaction) { news.append((number, .ordered(order))) }
      case .admitted(let admitted, let known):
        news.append((number, .admitted(admitted.compactMap { jobs.row($0.id, for: transaction.id) }, known: known)))
      default: news.append((number, row))
      }
    }
    let horizon = TransactionHorizon(
      own: Int64(transaction.id), oldest: Int64(open.keys.min() ?? transaction.id),
      timeline: server.timeline)
    transaction.reply = .news(news.sorted { $0.number < $1.number }, horizon)
  }

  private func addKnown(_ transaction: Transaction) {
    guard case .news(let news, let horizon) = transaction.reply else { return }
    let withKnown = news.map { number, one -> (number: Int64, news: News) in
      guard case .admitted(let jobs, _) = one else { return (number, one) }
      return (number, .admitted(jobs, known: known(jobs, transaction)))
    }
    transaction.reply = .news(withKnown, horizon)
  }

  private func known(_ jobs: [FleetJob], _ transaction: Transaction) -> [String: NamedJob] {
    var known: [String: NamedJob] = [:]
    for job in jobs {
      known.merge(self.known(job.specification.after + job.specification.afterAny, transaction)) { $1 }
    }
    return known
  }

  private func known(_ names: some Sequence<String>, _ transaction: Transaction) -> [String: NamedJob] {
    var known: [String: NamedJob] = [:]
    for name in names {
      guard let id = self.names.row(name, for: transaction.id), let job = jobs.row(id, for: transaction.id) else {
        continue
      }
      known[name] = NamedJob(id: id, state: job.state)
    }
    return known
  }

  private func load(_ first: FirstJobs, _ transaction: Transaction) throws {
    for (number, _) in inbox.all(for: transaction.id) { try inbox.write(number, nil, for: transaction.id) }
    transaction.reply = .loaded(state(first, for: transaction))
  }

  private func loadJobs(_ ids: [ManagedObjectID], _ transaction: Transaction) {
    let found = ids.compactMap { jobs.row($0, for: transaction.id) }.filter { isScheduled($0, transaction) }
    transaction.reply = .loadedJobs(found.sorted { ($0.created, $0.id.key) < ($1.created, $1.id.key) })
  }

  private func loadRest(_ names: Set<String>, _ transaction: Transaction) {
    transaction.reply = .loadedRest(known: known(names, transaction), orders: openOrders(transaction))
  }

  /// What is committed, as a new lead would load it.
  var committedState: FleetState {
    state(FirstJobs(), for: Transaction(id: 0, request: .beat(host: 0), host: 0, start: now))
  }

  /// True if a schedule has the job: quarantined ones that are being cancelled are reverted first.
  private func isScheduled(_ job: FleetJob, _ transaction: Transaction) -> Bool {
    !job.state.isFinal
      || job.state == .quarantined && (job.stop != nil || runs.row(job.id, for: transaction.id) != nil)
  }

  private func openOrders(_ transaction: Transaction) -> [PlacedOrder] {
    let open = orders.all(for: transaction.id).map(\.row).filter {
      answers.row(OrderKey($0), for: transaction.id) == nil
    }
    return open.sorted { ($0.host, $0.ticket) < ($1.host, $1.ticket) }.compactMap { withRows($0, transaction) }
  }

  private func state(_ first: FirstJobs, for transaction: Transaction) -> FleetState {
    let id = transaction.id
    func order(_ job: FleetJob) -> (Int64, Int64) {
      (job.created - Int64(job.specification.priority) * first.agingStep, job.id.key)
    }
    let scheduled = jobs.all(for: id).lazy.map(\.row).filter { self.isScheduled($0, transaction) }
    let waiting = scheduled.filter { self.runs.row($0.id, for: id) == nil }.sorted { order($0) < order($1) }
    let rest = waiting.dropFirst(first.count)
    let read = (waiting.prefix(first.count) + scheduled.filter { self.runs.row($0.id, for: id) != nil })
      .sorted { ($0.created, $0.id.key) < ($1.created, $1.id.key) }
    let alive = hosts.all(for: id).filter(\.row.isAlive).map { ($0.key, $0.row.host) }
    let assigned = runs.all(for: id).map(\.row)
    return FleetState(
      hosts: Dictionary(uniqueKeysWithValues: alive), runs: assigned,
      stops: assigned.compactMap { stop(of: $0, transaction) }, jobs: read, rest: rest.map(\.id),
      known: rest.isEmpty ? known(read, transaction) : [:], paused: Set(paused.all(for: id).map(\.key)),
      orders: openOrders(transaction))
  }

  private func write(_ round: LeadRound, _ transaction: Transaction) throws {
    for host in round.gone { _ = try deleteRuns(of: host, transaction) }
    for one in round.changes {
      try change(one.job, transaction) { apply(one.kind, to: &$0) }
      switch one.kind {
      // Another life may have other effects.
      case .again: try effects.write(one.job, nil, for: transaction.id)
      case .replaced:
        try effects.write(one.job, nil, for: transaction.id)
        try change(one.job, transaction) { $0.created = transaction.start }
        try announce(one.job, transaction)
      case .edited: try announce(one.job, transaction)
      case .state, .stop, .priority, .deleted: break
      }
    }
    for run in round.runs {
      try runs.lock(run.job, for: transaction.id)
      guard runs.row(run.job, for: transaction.id) == nil else { throw Undone.failed(.contradiction) }
      try runs.write(run.job, run, for: transaction.id)
      lastRun += 1
      runNumbers[run] = lastRun
    }
    for stop in round.stops {
      if runs.row(stop.run.job, for: transaction.id) == stop.run {
        try stops.write(stop.run.job, stop, for: transaction.id)
      } else if jobs.row(stop.run.job, for: transaction.id)?.state.isFinal == false {
        try change(stop.run.job, transaction) { tell(&$0, stop.event, stop.reason) }
      }
    }
    for answer in round.answers {
      let key = OrderKey(host: answer.host, ticket: answer.ticket)
      if orders.row(key, for: transaction.id) != nil { try answers.write(key, answer, for: transaction.id) }
    }
    if !round.deleted.isEmpty { _ = try delete(round.deleted, transaction) }
  }

  private func announce(_ id: ManagedObjectID, _ transaction: Transaction) throws {
    guard let job = jobs.row(id, for: transaction.id) else { return }
    try tell(.admitted([job], known: [:]), transaction)
  }

  private func remove(_ final: [FinalJob], _ transaction: Transaction) throws {
    transaction.reply = .removed(try delete(final, transaction))
  }

  /// Deletes jobs whose records nobody needs; returns how many are gone.
  private func delete(_ final: [FinalJob], _ transaction: Transaction) throws -> Int {
    let id = transaction.id
    let ordered = Set(
      orders.all(for: id).lazy.filter { self.answers.row($0.key, for: id) == nil }.flatMap(\.row.order.jobs))
    var count = 0
    for one in final where !ordered.contains(one.id) && runs.row(one.id, for: id) == nil {
      guard let job = jobs.row(one.id, for: id), job.state.isFinal, job.state != .quarantined else { continue }
      try jobs.write(one.id, nil, for: id)
      try names.write(one.name, nil, for: id)
      count += 1
    }
    return count
  }

  /// Notes what a job is told; one that was given up keeps that end.
  private func tell(_ job: inout FleetJob, _ event: JobEvent, _ reason: String?) {
    if job.stop?.event != .gaveUp { job.stop = (event, reason) }
  }

  private func apply(_ change: JobChange.Kind, to job: inout FleetJob) {
    switch change {
    case .state(let state, _):
      job.state = state == .available && job.attempt > 0 && job.retryTime != nil ? .retryable : state
      job.stop = nil
    case .stop(let event, let reason): tell(&job, event, reason)
    case .priority(let priority): job.specification.priority = priority
    case .again:
      job.state = .available
      (job.retryTime, job.stop) = (nil, nil)
      job.specification.notBefore = nil
    case .replaced(let new, let isHeld):
      (job.specification, job.place, job.state) = (new.specification, new.place, isHeld ? .held : .available)
      (job.retryTime, job.stop, job.isPartial, job.inputs) = (nil, nil, false, [])
    case .edited(let change):
      (job.specification.arguments, job.place, job.inputs) = (change.arguments, change.place, [])
    case .deleted: break
    }
  }
}
