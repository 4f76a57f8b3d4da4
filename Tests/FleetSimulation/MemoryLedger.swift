package import Fleet
import JobSchedule
import Jobs
import ObjectGraph

/// A fleet's ledger in memory, with transactions that interleave statement by statement.
package final class MemoryLedger: FleetLedger {
  /// A transaction that is under way.
  final class Transaction {
    let id: Int
    let request: LedgerRequest
    /// The host whose backend it is; 0 before a host has joined.
    let host: Int
    let start: Int64
    var statements: [(Transaction) throws -> Void] = []
    var nextStatement = 0
    var reply = LedgerReply.written
    var isAborted = false
    /// True while the server commits, for which it no longer needs the client.
    var isCommitting = false
    var isComplete: Bool { nextStatement > 0 && nextStatement == statements.count }
    /// The hosts that it takes over.
    var dead: [Int] = []
    /// The sessions that it deletes, as it has found them.
    var doomed: [SessionKey]?

    init(id: Int, request: LedgerRequest, host: Int, start: Int64) {
      self.id = id
      self.request = request
      self.host = host
      self.start = start
    }
  }

  /// The end of a transaction without effects.
  struct Undone: Error {
    let result: Result<LedgerReply, LedgerError>

    static func failed(_ error: LedgerError) -> Undone { Undone(result: .failure(error)) }
    static let refused = Undone(result: .success(.refused))
  }

  enum Step {
    case more
    /// Another transaction has what it needs.
    case blocked
    case ended(Result<LedgerReply, LedgerError>)
  }

  struct Host {
    let host: FleetHost
    var isAlive = true
  }

  struct StartRow {
    let name: Resource.Name
    let count: Int
    let time: Int64
    let until: Int64
  }

  struct SessionKey: Hashable {
    let host: Int
    let slot: Int
  }

  struct OrderKey: Hashable {
    let host: Int
    let ticket: Int64

    init(host: Int, ticket: Int64) { (self.host, self.ticket) = (host, ticket) }
    init(_ order: PlacedOrder) { self.init(host: order.host, ticket: order.ticket) }
  }

  /// The server's clock, in milliseconds.
  package var now: Int64 = 0
  /// The server of now; another one behind a ``failover(losing:)``.
  private(set) var server = LedgerServer(timeline: 1, isReplicated: false)
  /// True if a takeover ends the backends of the host with a root: a pooler may give them another name.
  var endsBackends: (_ root: String) -> Bool = { _ in true }

  var hosts = RowTable<Int, Host>()
  var beats = RowTable<Int, Int64>()
  var sessions = RowTable<SessionKey, Int64>()
  var lead = RowTable<Int, (term: Int64, host: Int?)>()
  var runs = RowTable<ManagedObjectID, Run>()
  /// What runs were told, by their jobs; one of an earlier run means nothing.
  var stops = RowTable<ManagedObjectID, RunStop>()
  var inbox = RowTable<Int64, News>()
  var orders = RowTable<OrderKey, PlacedOrder>()
  var answers = RowTable<OrderKey, OrderAnswer>()
  var jobs = RowTable<ManagedObjectID, FleetJob>()
  var names = RowTable<String, ManagedObjectID>()
  var paused = RowTable<Resource.Name, Bool>()
  /// Starts of jobs that count for rates, by numbers that grow with time.
  var starts = RowTable<Int64, StartRow>()
  /// The attempts whose effects were committed.
  var effects = RowTable<ManagedObjectID, [Run]>()
  /// The jobs that are not among ``jobs`` any more.
  var removed = RowTable<ManagedObjectID, Bool>()
  /// Drawn outside of transactions, like a sequence's values.
  var lastHost = 0
  var lastNews: Int64 = 0
  var lastRun: Int64 = 0
  var lastStart: Int64 = 0
  /// The numbers of runs; each is assigned once.
  var runNumbers: [Run: Int64] = [:]
  private var lastTransaction = 0
  /// A transaction of another program on the same server, and the time at which it ends.
  private var lastForeign: (id: Int, end: Int64)?
  private(set) var open: [Int: Transaction] = [:]
  /// The times of commits, and what brings back the tables of then; kept for as long as a failover may lose.
  private var past: [(time: Int64, bringBack: () -> Void)] = []
  private let longestLoss: Int64

  package convenience init() { self.init(isReplicated: false, longestLoss: 0) }

  /// - Parameters:
  ///   - isReplicated: true if commits wait for a standby.
  ///   - longestLoss: the milliseconds by which a standby may be behind.
  init(isReplicated: Bool, longestLoss: Int64) {
    server = LedgerServer(timeline: 1, isReplicated: isReplicated)
    self.longestLoss = longestLoss
  }

  package func perform(_ request: LedgerRequest) throws(LedgerError) -> LedgerReply {
    let transaction = begin(request, from: 0)
    while true {
      switch step(transaction) {
      case .more: continue
      case .blocked:
        abort(transaction)
        throw .unavailable
      case .ended(let result): return try result.get()
      }
    }
  }

  func begin(_ request: LedgerRequest, from host: Int) -> Transaction {
    lastTransaction += 1
    let transaction = Transaction(id: lastTransaction, request: request, host: host, start: now)
    transaction.statements = statements(of: request)
    open[transaction.id] = transaction
    return transaction
  }

  var foreign: (id: Int, end: Int64)? { lastForeign.flatMap { $0.end > now ? $0 : nil } }

  /// Has another program begin a transaction that writes something else.
  func beginForeign(until end: Int64) {
    if foreign != nil { return }
    lastTransaction += 1
    lastForeign = (lastTransaction, end)
  }

  /// Executes the next statement, or commits.
  func step(_ transaction: Transaction) -> Step {
    if transaction.isAborted { return .ended(.failure(.unknown)) }
    guard transaction.nextStatement < transaction.statements.count else {
      end(transaction, isCommitted: true)
      return .ended(.success(transaction.reply))
    }
    do {
      try transaction.statements[transaction.nextStatement](transaction)
      transaction.nextStatement += 1
      return .more
    } catch let error as Undone {
      end(transaction, isCommitted: false)
      return .ended(error.result)
    } catch {
      return .blocked
    }
  }

  /// Ends a transaction without effects, and its backend.
  func abort(_ transaction: Transaction) {
    if open[transaction.id] == nil { return }
    transaction.isAborted = true
    end(transaction, isCommitted: false)
  }

  private func end(_ transaction: Transaction, isCommitted: Bool) {
    let id = transaction.id
    open[id] = nil
    transaction.statements = []
    hosts.end(id, isCommitted: isCommitted)
    beats.end(id, isCommitted: isCommitted)
    sessions.end(id, isCommitted: isCommitted)
    lead.end(id, isCommitted: isCommitted)
    runs.end(id, isCommitted: isCommitted)
    stops.end(id, isCommitted: isCommitted)
    orders.end(id, isCommitted: isCommitted)
    answers.end(id, isCommitted: isCommitted)
    inbox.end(id, isCommitted: isCommitted)
    jobs.end(id, isCommitted: isCommitted)
    names.end(id, isCommitted: isCommitted)
    paused.end(id, isCommitted: isCommitted)
    starts.end(id, isCommitted: isCommitted)
    effects.end(id, isCommitted: isCommitted)
    removed.end(id, isCommitted: isCommitted)
    guard isCommitted, longestLoss > 0 else { return }
    if let old = past.lastIndex(where: { $0.time < now - longestLoss }) { past.removeFirst(old) }
    past.append((now, snapshot()))
  }

  /// Lets a standby take the server's place, which knows nothing of the last milliseconds, but for what was waited for.
  func failover(losing time: Int64) {
    for transaction in open.values { abort(transaction) }
    let loss = server.isReplicated ? 0 : min(time, longestLoss)
    past.last { $0.time <= now - loss }?.bringBack()
    past = []
    server = LedgerServer(timeline: server.timeline + 1, isReplicated: server.isReplicated)
  }

  /// What brings back the tables of now. The numbers of hosts go on: the server logs some of them ahead.
  private func snapshot() -> () -> Void {
    {
      [
        unowned self, hosts, beats, sessions, lead, runs, stops, orders, answers, inbox, jobs, names, paused, starts,
        effects, removed, lastNews, lastRun, runNumbers
      ] in
      (self.hosts, self.beats, self.sessions, self.lead) = (hosts, beats, sessions, lead)
      (self.runs, self.stops, self.orders, self.answers) = (runs, stops, orders, answers)
      (self.inbox, self.jobs, self.names, self.paused) = (inbox, jobs, names, paused)
      (self.starts, self.effects, self.removed) = (starts, effects, removed)
      (self.lastNews, self.lastRun, self.runNumbers) = (lastNews, lastRun, runNumbers)
      self.undoAll()
    }
  }

  /// Undoes what transactions had open when the tables were noted.
  private func undoAll() {
    hosts.undoAll()
    beats.undoAll()
    sessions.undoAll()
    lead.undoAll()
    runs.undoAll()
    stops.undoAll()
    orders.undoAll()
    answers.undoAll()
    inbox.undoAll()
    jobs.undoAll()
    names.undoAll()
    paused.undoAll()
    starts.undoAll()
    effects.undoAll()
    removed.undoAll()
  }
}
