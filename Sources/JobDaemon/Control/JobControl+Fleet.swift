import Fleet
import JobSchedule
import Jobs
import ObjectGraph
import PostgresFleet

/// Commands on a fleet: its lead carries them out, and whoever runs a job is told by it.
extension JobControl {
  /// Has the lead carry a command out.
  ///
  /// - Parameter ids: the jobs; nil for one that nobody knows.
  /// - Returns: the replies, in the order of the jobs.
  func perform(_ command: Command, _ ids: [ManagedObjectID?], on membership: Membership) throws -> [Reply] {
    let known = ids.compactMap(\.self)
    if known.isEmpty { return ids.map { _ in .unknown } }
    let targets = try self.targets(command, known)
    guard case .outcomes(let outcomes) = try membership.ask(.command(command, targets)),
      outcomes.count == known.count
    else { throw NoAnswer() }
    engine.meter.noteChange(of: known)
    var rest = try replies(outcomes)[...]
    if command == .delete { rest = try checkingDeletion(of: known, rest, membership)[...] }
    return ids.map { id in id == nil ? .unknown : rest.popFirst() ?? .unknown }
  }

  /// The replies to an order to delete jobs, with those that were left since the hosts of their spools have not acted on
  /// their ends.
  private func checkingDeletion(
    of ids: [ManagedObjectID], _ replies: ArraySlice<Reply>, _ membership: Membership
  ) throws -> [Reply] {
    let left = try membership.reader().records(of: zip(ids, replies).compactMap { $1 == .done ? $0 : nil })
    if left.isEmpty { return Array(replies) }
    let spools = try context().performAndWait { context in
      let jobs = try context.fetch(FetchRequest<Job>(objectIDs: left.keys))
      return Dictionary(jobs.map { ($0.objectID, $0.spool) }) { first, _ in first }
    }
    return zip(ids, replies).map { id, reply in
      guard reply == .done, let end = left[id] else { return reply }
      return .awaited(end.job.state, by: spools[id] ?? nil)
    }
  }

  /// The jobs with the attempts that they get if they are put back.
  private func targets(_ command: Command, _ ids: [ManagedObjectID]) throws -> [Order.Target] {
    guard command == .retry || command == .redrive else { return ids.map { Order.Target($0, attempts: 1) } }
    return try context().performAndWait { [engine] context in
      let jobs = try context.fetch(FetchRequest<Job>(objectIDs: ids))
      let attempts = Dictionary(
        try jobs.map { ($0.objectID, try Self.attempts(of: $0, engine)) }
      ) { first, _ in first }
      return ids.map { Order.Target($0, attempts: attempts[$0] ?? 1) }
    }
  }

  private func replies(_ outcomes: [OrderAnswer.Outcome]) throws -> [Reply] {
    try context().performAndWait { context in
      try outcomes.map { outcome in
        switch outcome {
        case .done: .done
        case .unknown: .unknown
        case .impossible(let state): .impossible(state)
        case .keyTaken(let state, let owner): .keyTaken(state, owner: try context.job(with: owner).id)
        case .needed(let state, let dependent): .needed(state, by: try context.job(with: dependent).id)
        case .begun, .changed: .impossible(.running)
        case .replacing: .replacing
        }
      }
    }
  }
}

/// A reason why nothing is done with a fleet or one of its hosts.
enum HostRefusal: Error, Equatable {
  case noFleet
  case unknown(String, known: [String])
  case ambiguous(String, [String])
  case alive(String)
  case hasJobs(String, Int)
  /// These hosts work in no newer format of the ledger than the fleet does.
  case older([AnnouncedHost], format: Int)
}

/// Commands for a fleet and its hosts.
extension JobControl {
  /// Gives a host no jobs any more, or jobs again, and calls back with the root of its spool.
  ///
  /// - Parameter host: its number, the root of its spool, or its name if no other host has that.
  func setDrained(
    _ isDrained: Bool, host: String, answer: @escaping @Sendable (Result<String, any Error>) -> Void
  ) {
    enqueue(answer) { [self] in
      let (membership, root) = try find(host)
      try membership.setPaused(isDrained, .host(root))
      return root
    }
  }

  /// Removes a host that is gone for good, and calls back with the root of its spool and the number of jobs that only it
  /// could run.
  func remove(
    host: String, jobs fate: HostRemoval.Fate?,
    answer: @escaping @Sendable (Result<(root: String, jobs: Int), any Error>) -> Void
  ) {
    enqueue(answer) { [self] in
      let (membership, root) = try find(host)
      let ledger = try membership.reader()
      switch try ledger.remove(root, jobs: fate) {
      case .removed(let jobs):
        ledger.hintLead()
        return (root, jobs)
      case .isAlive: throw HostRefusal.alive(root)
      case .hasJobs(let count): throw HostRefusal.hasJobs(root, count)
      case .unknown: throw HostRefusal.unknown(root, known: [])
      }
    }
  }

  /// Ends an upgrade of the fleet host by host, and calls back with what came of it.
  ///
  /// - Parameter isTrial: true to change nothing.
  func finishUpgrade(isTrial: Bool, answer: @escaping @Sendable (Result<UpgradeEnd, any Error>) -> Void) {
    enqueue(answer) { [self] in
      let end = try membership().finishUpgrade(isTrial: isTrial)
      if end.isRefused { throw HostRefusal.older(end.holdingBack, format: end.old) }
      return end
    }
  }

  private func membership() throws(HostRefusal) -> Membership {
    guard let membership = engine.membership else { throw .noFleet }
    return membership
  }

  private func find(_ name: String) throws -> (Membership, root: String) {
    let membership = try membership()
    return (membership, try membership.reader().knownHosts().root(named: name))
  }
}

extension [FleetOverview.Host] {
  /// The root of the host that people call so.
  func root(named name: String) throws(HostRefusal) -> String {
    if let host = first(where: { $0.root == name || "\($0.number)" == name }) { return host.root }
    let called = map(\.root).filter { $0.hasPrefix(name + ":") }
    if called.count > 1 { throw .ambiguous(name, called) }
    guard let root = called.first else { throw .unknown(name, known: map(\.root)) }
    return root
  }
}
