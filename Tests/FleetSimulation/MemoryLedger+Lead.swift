import Fleet
import JobSchedule
import Jobs
import ObjectGraph

/// What a lead reads when it begins and in each round, and what it writes.
extension MemoryLedger {
  func load(_ first: FirstJobs, _ transaction: Transaction) throws {
    for (number, _) in inbox.all(for: transaction.id) { try inbox.write(number, nil, for: transaction.id) }
    transaction.reply = .loaded(state(first, for: transaction))
  }

  func loadJobs(_ ids: [ManagedObjectID], _ transaction: Transaction) {
    let found = ids.compactMap { jobs.row($0, for: transaction.id) }.filter { isScheduled($0, transaction) }
    transaction.reply = .loadedJobs(found.sorted { ($0.created, $0.id.key) < ($1.created, $1.id.key) })
  }

  func loadRest(_ names: Set<String>, _ transaction: Transaction) {
    transaction.reply = .loadedRest(known: known(names, transaction), orders: openOrders(transaction))
  }

  /// What is committed, as a new lead would load it.
  var committedState: FleetState {
    state(FirstJobs(), for: Transaction(id: 0, request: .beat(host: 0), host: 0, start: now))
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
      starts: openStarts(transaction), orders: openOrders(transaction))
  }

  private func openStarts(_ transaction: Transaction) -> [RateStarts] {
    let open = starts.all(for: transaction.id).filter { $0.row.until > transaction.start }.sorted { $0.key < $1.key }
    return open.map { RateStarts($0.row.name, count: $0.row.count, age: max(0, transaction.start - $0.row.time)) }
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

  /// The order with the rows of its jobs as they are now; nil if it is gone with its host.
  private func withRows(_ placed: PlacedOrder, _ transaction: Transaction) -> PlacedOrder? {
    let key = OrderKey(host: placed.host, ticket: placed.ticket)
    guard var order = orders.row(key, for: transaction.id) else { return nil }
    order.jobs = order.order.jobs.sorted { $0.key < $1.key }.compactMap { jobs.row($0, for: transaction.id) }
    return order
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

  // MARK: News

  /// Deletes news, and answers those that are not known.
  func takeNews(
    above floor: Int64, besides known: [Int64], askingForWriters: Bool, _ transaction: Transaction
  ) throws {
    let others = open.keys.filter { $0 != transaction.id }
    let oldest = (others + [transaction.id] + (foreign.map { [$0.id] } ?? [])).min() ?? transaction.id
    let horizon = TransactionHorizon(
      own: Int64(transaction.id), oldest: Int64(oldest), timeline: server.timeline,
      writers: askingForWriters ? Set(others.map(String.init)) : nil)
    transaction.reply = .news(news(above: floor, besides: known, transaction), horizon)
    for (number, _) in inbox.all(for: transaction.id) where number > floor {
      try inbox.write(number, nil, for: transaction.id)
    }
  }

  func readNews(above floor: Int64, besides known: [Int64], _ transaction: Transaction) {
    transaction.reply = .readNews(news(above: floor, besides: known, transaction), timeline: server.timeline)
  }

  private func news(
    above floor: Int64, besides known: [Int64], _ transaction: Transaction
  ) -> [(number: Int64, news: News)] {
    var news: [(number: Int64, news: News)] = []
    for (number, row) in inbox.all(for: transaction.id) where number > floor && !known.contains(number) {
      switch row {
      case .ordered(let placed):
        if let order = withRows(placed, transaction) { news.append((number, .ordered(order))) }
      case .admitted(let admitted, let known):
        news.append((number, .admitted(admitted.compactMap { jobs.row($0.id, for: transaction.id) }, known: known)))
      default: news.append((number, row))
      }
    }
    return news.sorted { $0.number < $1.number }
  }

  /// Adds to news of jobs those that they wait for.
  func addKnown(_ transaction: Transaction) {
    func withKnown(_ news: [(number: Int64, news: News)]) -> [(number: Int64, news: News)] {
      news.map { number, one in
        guard case .admitted(let jobs, _) = one else { return (number, one) }
        return (number, .admitted(jobs, known: known(jobs, transaction)))
      }
    }
    switch transaction.reply {
    case .news(let news, let horizon): transaction.reply = .news(withKnown(news), horizon)
    case .readNews(let news, let timeline): transaction.reply = .readNews(withKnown(news), timeline: timeline)
    default: break
    }
  }

  // MARK: Rounds

  func write(_ round: LeadRound, _ transaction: Transaction) throws {
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
    if round.forgetsStarts {
      for (number, row) in starts.all(for: transaction.id) where row.until <= transaction.start {
        try starts.write(number, nil, for: transaction.id)
      }
    }
    for (name, start) in round.starts {
      lastStart += 1
      let row = StartRow(
        name: name, count: start.count, time: transaction.start, until: transaction.start + start.period)
      try starts.write(lastStart, row, for: transaction.id)
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

  private func apply(_ change: JobChange.Kind, to job: inout FleetJob) {
    switch change {
    case .state(let state, _):
      job.state = state == .available && job.attempt > 0 && job.retryTime != nil ? .retryable : state
      job.stop = nil
    case .stop(let event, let reason): tell(&job, event, reason)
    case .priority(let priority): job.specification.priority = priority
    case .again(_, let specification):
      job.state = .available
      if let specification { job.specification.earlierAttempts = specification.earlierAttempts }
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

  private func announce(_ id: ManagedObjectID, _ transaction: Transaction) throws {
    guard let job = jobs.row(id, for: transaction.id) else { return }
    try tell(.admitted([job], known: [:]), transaction)
  }

  func remove(_ final: [FinalJob], _ transaction: Transaction) throws {
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
      try removed.write(one.id, true, for: id)
      try names.write(one.name, nil, for: id)
      count += 1
    }
    return count
  }
}
