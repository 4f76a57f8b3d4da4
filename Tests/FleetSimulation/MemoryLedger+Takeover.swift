import Fleet

/// The statements that take hosts over: silent ones, an old lead, and those whose root another process has now.
extension MemoryLedger {
  /// - Parameter silence: the time for which the hosts must have been silent; nil if they are certainly dead.
  func takeover(_ dead: @escaping (Transaction) -> [Int], silence: Silence?) -> [Statement] {
    [
      { transaction in
        transaction.dead = dead(transaction)
        for host in transaction.dead {
          // A beat waits for this row, and then finds none.
          try self.beats.lock(host, for: transaction.id)
          guard let silence else { continue }
          let end = min(transaction.start, silence.end ?? .max)
          guard let seen = self.beats.row(host, for: transaction.id), seen <= end - silence.length else {
            throw Undone.refused
          }
        }
        for host in transaction.dead { try self.beats.write(host, nil, for: transaction.id) }
      },
      { transaction in
        let ended = transaction.dead.filter { host in
          self.hosts.row(host, for: transaction.id).map { self.endsBackends($0.host.root) } == true
        }
        for other in self.open.values where ended.contains(other.host) && other.id != transaction.id {
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

  /// - Parameter host: the only one that is meant; nil for all.
  func buryStatements(root: String, host: Int? = nil) -> [Statement] {
    let dead = { (transaction: Transaction) in
      self.hosts.all(for: transaction.id).filter { $0.row.isAlive && $0.row.host.root == root }.map(\.key)
        .filter { host == nil || $0 == host }
    }
    return takeover(dead, silence: nil) + [
      { transaction in
        for host in transaction.dead { try self.tell(.buried(host), transaction) }
        transaction.reply = .written
      }
    ]
  }

  func leadStatements(after term: Int64, silence: Silence, _ receipt: Receipt) -> [Statement] {
    let old = { (transaction: Transaction) -> [Int] in
      guard let host = self.lead.row(0, for: transaction.id)?.host,
        self.hosts.row(host, for: transaction.id)?.isAlive == true
      else { return [] }
      return [host]
    }
    return [
      { transaction in
        try self.lead.lock(0, for: transaction.id)
        guard let row = self.lead.row(0, for: transaction.id), row.term == term, row.host != receipt.host else {
          throw Undone.refused
        }
      }
    ] + takeover(old, silence: silence) + [
      { transaction in
        try self.lead.write(0, (term + 1, receipt.host), for: transaction.id)
        transaction.reply = .leads(term: term + 1)
      }
    ]
  }
}
