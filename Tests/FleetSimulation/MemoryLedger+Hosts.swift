import Fleet
import JobSchedule
import Jobs
import ObjectGraph

/// What any host writes and reads: its beats, its runs and how they ended, new jobs, and orders.
extension MemoryLedger {
  func enter(_ host: FleetHost, _ transaction: Transaction) throws {
    lastHost += 1
    let number = lastHost
    try hosts.write(number, Host(host: host), for: transaction.id)
    try beats.write(number, transaction.start, for: transaction.id)
    for slot in 0..<3 { try sessions.write(SessionKey(host: number, slot: slot), 0, for: transaction.id) }
    if lead.row(0, for: transaction.id) == nil { try lead.write(0, (0, nil), for: transaction.id) }
    try tell(.joined(number, host), transaction)
    transaction.reply = .joined(host: number, time: now)
  }

  func beat(_ host: Int, above floors: BeatFloors, _ transaction: Transaction) throws {
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
        news: isLead ? inbox.all(for: id).map(\.key).filter { $0 > floors.news }.max() : nil,
        paused: Set(paused.all(for: id).map(\.key))))
  }

  func readRuns(of host: Int, after number: Int64, _ transaction: Transaction) {
    let numbers = runs(of: host, transaction).map { (run: $0, number: runNumbers[$0, default: 0]) }
      .filter { $0.number > number }.sorted { $0.number < $1.number }
    transaction.reply = .runs(
      numbers.map(\.run), stops: stops(of: host, transaction), last: numbers.last?.number ?? number)
  }

  // MARK: Jobs and orders

  func admit(_ new: [FleetJob], _ transaction: Transaction) throws {
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

  func place(_ order: Order, ticket: Int64, by host: Int, _ transaction: Transaction) throws {
    let key = OrderKey(host: host, ticket: ticket)
    try orders.write(key, PlacedOrder(host: host, ticket: ticket, order: order, jobs: []), for: transaction.id)
    lastNews += 1
    try inbox.write(
      lastNews, .ordered(PlacedOrder(host: host, ticket: ticket, order: order, jobs: [])), for: transaction.id)
  }

  func deleteRuns(_ ended: [EndedRun], _ transaction: Transaction) throws {
    for one in ended {
      try runs.lock(one.run.job, for: transaction.id)
      guard runs.row(one.run.job, for: transaction.id) == one.run else { throw Undone.failed(.contradiction) }
      try runs.write(one.run.job, nil, for: transaction.id)
    }
  }

  func record(_ ended: [EndedRun], _ transaction: Transaction) throws {
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
        if let stop, stop.event != .interrupted,
          [.interrupted, .failed].contains(one.event) || one.event == .held && stop.event != .held
        {
          self.tell(&job, stop.event, stop.reason ?? job.stop?.reason)
        }
      }
      if one.event == .succeeded {
        let before = effects.row(one.run.job, for: transaction.id) ?? []
        try effects.write(one.run.job, before + [one.run], for: transaction.id)
      }
    }
  }
}
