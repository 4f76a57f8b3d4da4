import Fleet

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
    case .lead(let term, let silence, let receipt):
      [fence(receipt)] + leadStatements(after: term, silence: silence, receipt)
    case .load(let first, let receipt): [fence(receipt), { try self.load(first, $0) }]
    case .loadJobs(let jobs, let receipt): [fence(receipt), { self.loadJobs(jobs, $0) }]
    case .loadRest(let names, let receipt): [fence(receipt), { self.loadRest(names, $0) }]
    case .round(let round, let receipt):
      [
        fence(receipt), { try self.write(round, $0) },
        // A job that the round has cancelled is not to be waited for.
        {
          try self.takeNews(
            above: round.floor, besides: round.knownNews, askingForWriters: round.asksForWriters, $0)
        }, { self.addKnown($0) },
      ]
    case .readNews(let floor, let known):
      [{ self.readNews(above: floor, besides: known, $0) }, { self.addKnown($0) }]
    case .remove(let jobs, let receipt): [fence(receipt), { try self.remove(jobs, $0) }]
    case .fence(let host, let silence, let receipt): [fence(receipt)] + takeover({ _ in [host] }, silence: silence)
    case .bury(let root, let host): buryStatements(root: root, host: host)
    }
  }

  // MARK: Sessions

  private func fence(_ receipt: Receipt) -> Statement {
    { transaction in
      if let timeline = receipt.timeline, timeline != self.server.timeline { throw Undone.failed(.setBack) }
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
}
