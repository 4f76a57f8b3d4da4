import Synchronization

/// What an operator may order.
enum Order: Sendable, Hashable {
  case cancel(String)
  case hold(String)
  case release(String)
  case retry(String)
  case redrive(String)
  case priority(String, Int)
  case pause(queue: String)
  case resume(queue: String)

  /// What became of one.
  enum Reply: Sendable, Equatable {
    case done
    /// It can't be obeyed, and nothing has changed.
    case refused
    /// The daemon was killed meanwhile: it has obeyed, or not.
    case unknown
  }

  /// The job that is meant; nil for a queue.
  var job: String? {
    switch self {
    case .cancel(let id), .hold(let id), .release(let id), .retry(let id), .redrive(let id), .priority(let id, _): id
    case .pause, .resume: nil
    }
  }

  /// The job or the queue that is meant.
  fileprivate var subject: String {
    if case .pause(let queue) = self { queue } else if case .resume(let queue) = self { queue } else { job ?? "" }
  }

  /// Whether jobs may start that could not before.
  fileprivate var opens: Bool {
    switch self {
    case .release, .retry, .redrive, .resume: true
    case .cancel, .hold, .priority, .pause: false
    }
  }
}

/// Which orders were given and answered, and what they make of what jobs must come to.
///
/// What nobody knows, since the daemon was killed before it answered, may be so or so; all else must be as it was told.
final class OrderBook: Sendable {
  /// What orders have made of a job.
  struct Standing: Sendable {
    enum End: Sendable { case own, cancelled }

    /// How it ends: as it does by itself, or cancelled.
    var ends: Set<End> = [.own]
    var held: Set<Bool> = [false]
    var priorities: Set<Int> = [0]
    /// Whether it was put back to run once more, without regard to time and other jobs.
    var revived: Set<Bool> = [false]

    fileprivate var mayBeRevived: Bool { revived.contains(true) }
  }

  /// A time in which programs must not be started: from the answer to an order until another one is sent.
  private struct Closure {
    let order: Order
    let begin: Int
    var end: Int?
    /// The process that has answered.
    let daemon: Int32
    /// The last attempts of that process that were under way when it had answered, by job; nil if it was killed before
    /// it told.
    let underWay: [String: Int]?

    func forbids(_ start: JobStart, queue: String?) -> Bool {
      guard start.end > begin, start.end <= end ?? .max else { return false }
      if case .pause(let name) = order {
        guard name == queue else { return false }
      } else {
        guard order.job == start.job else { return false }
      }
      if start.daemon != daemon { return true }
      return underWay.map { start.attempt > $0[start.job] ?? 0 } ?? false
    }
  }

  private struct State {
    var standings: [String: Standing] = [:]
    var pauses: [String: Set<Bool>] = [:]
    var closures: [Closure] = []
    /// The closures that an order on its way may end.
    var opening: [Order: [Int]] = [:]
    var log: [(order: Order, text: String)] = []
    var counts = (done: 0, refused: 0, unknown: 0)
  }

  private let state = Mutex(State())

  var counts: (done: Int, refused: Int, unknown: Int) { state.withLock { $0.counts } }
  var isEmpty: Bool { state.withLock { $0.log.isEmpty } }

  func standing(of id: String) -> Standing { state.withLock { $0.standings[id] ?? Standing() } }

  /// Whether a queue is paused; both if nobody knows.
  func pauses(of queue: String) -> Set<Bool> { state.withLock { $0.pauses[queue] ?? [false] } }

  /// Notes that an order is about to be sent.
  ///
  /// - Parameter noted: how much has been noted of starts.
  func begin(_ order: Order, noted: Int) {
    state.withLock { state in
      guard order.opens else { return }
      let indices = state.closures.indices.filter {
        let closure = state.closures[$0]
        if closure.end != nil { return false }
        if case .resume(let queue) = order { return closure.order == .pause(queue: queue) }
        return closure.order.job == order.job && order.job != nil
      }
      for index in indices { state.closures[index].end = noted }
      state.opening[order] = indices
    }
  }

  /// Notes what became of an order.
  ///
  /// - Parameters:
  ///   - noted: how much had been noted of starts when it was answered.
  ///   - underWay: the last attempts that were under way then, of the jobs concerned; nil if that is not known.
  func end(_ order: Order, _ reply: Order.Reply, noted: Int, daemon: Int32, underWay: [String: Int]?) {
    state.withLock { state in
      state.log.append((order, "\(order) \(reply) by \(daemon) at \(noted)"))
      switch reply {
      case .done: state.counts.done += 1
      case .refused: state.counts.refused += 1
      case .unknown: state.counts.unknown += 1
      }
      let opened = state.opening.removeValue(forKey: order) ?? []
      if reply == .refused {
        for index in opened { state.closures[index].end = nil }
        return
      }
      switch order {
      case .pause(let queue): Self.set(&state.pauses[queue, default: [false]], true, reply)
      case .resume(let queue): Self.set(&state.pauses[queue, default: [false]], false, reply)
      default: Self.apply(order, reply, to: &state.standings[order.job ?? "", default: Standing()])
      }
      if reply == .done, !order.opens, order.closes {
        state.closures.append(Closure(order: order, begin: noted, daemon: daemon, underWay: underWay))
      }
    }
  }

  private static func apply(_ order: Order, _ reply: Order.Reply, to job: inout Standing) {
    switch order {
    case .cancel:
      set(&job.ends, .cancelled, reply)
      set(&job.held, false, reply)
    case .hold: set(&job.held, true, reply)
    case .release: set(&job.held, false, reply)
    case .retry, .redrive:
      set(&job.ends, .own, reply)
      set(&job.held, false, reply)
      set(&job.revived, true, reply)
    case .priority(_, let value): set(&job.priorities, value, reply)
    case .pause, .resume: break
    }
  }

  private static func set<Value>(_ values: inout Set<Value>, _ value: Value, _ reply: Order.Reply) {
    if reply == .done { values = [value] } else { values.insert(value) }
  }

  // MARK: What must have come of them

  /// What a job must come to once all are released and resumed.
  ///
  /// - Parameter states: the states that jobs have come to.
  func expectation(_ job: ExpectedJob, states: [String: String]) -> ExpectedJob {
    let standings = state.withLock { $0.standings }
    let standing = standings[job.id] ?? Standing()
    let mayBeRevived = { (id: String) in standings[id]?.mayBeRevived == true }
    var job = job
    var own: Set<String> = []
    let lacks = job.needs.contains { states[$0] != "completed" }
    // What it needs may have come to something else since, if it was put back.
    let isOpen = job.needs.contains(where: mayBeRevived)
    if !lacks || isOpen || standing.mayBeRevived { own = job.outcomes }
    if (lacks || isOpen) && standing.revived.contains(false) { own.insert("cancelled") }
    job.outcomes = []
    if standing.ends.contains(.own) { job.outcomes.formUnion(own) }
    if standing.ends.contains(.cancelled) { job.outcomes.insert("cancelled") }
    job.priorities = standing.priorities
    job.after = standing.mayBeRevived ? [] : job.after.filter { !mayBeRevived($0) }
    if standing.mayBeRevived { job.notBefore = nil }
    return job
  }

  /// Programs that were started although an order had been answered that forbids it.
  func problems(with starts: [JobStart], queue: (String) -> String?) -> [Problem] {
    let closures = state.withLock { $0.closures }
    return starts.flatMap { start in
      let queue = queue(start.job)
      return closures.filter { $0.forbids(start, queue: queue) }.map { closure in
        Problem(
          kind: .repetition,
          description: "attempt \(start.attempt) of \(start.job) was started by \(start.daemon) at \(start.end) after "
            + "\(closure.order) by \(closure.daemon) at \(closure.begin), under way \(closure.underWay ?? [:])")
      }
    }
  }

  /// All orders about what problems tell of, in their order.
  func story(of problems: [Problem]) -> String {
    let log = state.withLock { $0.log }
    return log.filter { entry in
      problems.contains { $0.description.contains(entry.order.subject) }
    }.map(\.text).joined(separator: "\n")
  }
}

extension Order {
  /// Whether jobs may not start from its answer on.
  fileprivate var closes: Bool {
    switch self {
    case .cancel, .hold, .pause: true
    default: false
    }
  }
}
