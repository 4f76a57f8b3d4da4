import DaemonTesting
import Foundation
import JSONText
import SystemSupport
import TestSupport
import Testing

/// Gives a daemon random orders over its socket, one after the other, and looks whether they are obeyed.
///
/// Several share a ledger: each has the jobs of every so many files, and a queue, so that it knows what it has ordered.
struct OrderGiver: Sendable {
  static let count = 3
  static let queues = (0..<count).map(queue)

  private let ledger: Ledger
  private let lane: Int
  private var random: SeededGenerator

  private static func queue(_ lane: Int) -> String { "q\(lane)" }

  /// - Parameter lane: the number of this one, below ``count``.
  init(_ ledger: Ledger, lane: Int, seed: UInt64) {
    self.ledger = ledger
    self.lane = lane
    random = SeededGenerator(seed: seed)
  }

  /// Lets all of them give orders until the daemon is gone.
  static func all(_ ledger: Ledger, seed: UInt64, to daemon: DaemonProcess) async throws {
    try await withThrowingTaskGroup { group in
      for lane in 0..<count {
        group.addTask {
          var giver = OrderGiver(ledger, lane: lane, seed: seed &* 100 &+ UInt64(lane))
          while let order = giver.next(), try await give(order, to: daemon, ledger.orders) {}
        }
      }
      try await group.waitForAll()
    }
  }

  // MARK: Choosing

  private enum Kind: CaseIterable { case cancel, hold, release, retry, redrive, priority, pause, resume }

  /// How often each kind is tried.
  private static let kinds: [Kind] =
    [.cancel, .hold, .hold, .release, .release, .release, .retry, .retry, .retry, .redrive, .priority]
    + [.pause, .resume, .resume]

  /// An order for one of the later jobs; nil without jobs.
  private mutating func next() -> Order? {
    let jobs = ledger.jobs.filter { $0.isNamed && Self.number(of: $0.id) % Self.count == lane }.suffix(40)
    if jobs.isEmpty { return nil }
    while true {
      if let order = order(Self.kinds.randomElement(using: &random) ?? .hold, jobs) { return order }
    }
  }

  private mutating func order(_ kind: Kind, _ jobs: ArraySlice<ExpectedJob>) -> Order? {
    let book = ledger.orders
    func pick(_ isMeant: (ExpectedJob, OrderBook.Standing) -> Bool) -> String? {
      jobs.filter { isMeant($0, book.standing(of: $0.id)) }.randomElement(using: &random)?.id
    }
    let queue = Self.queue(lane)
    switch kind {
    case .cancel: return pick { _, _ in true }.map(Order.cancel)
    case .hold: return pick { _, standing in standing.ends.contains(.own) }.map(Order.hold)
    case .release: return pick { _, standing in standing.held.contains(true) }.map(Order.release)
    // What was completed would have its effects twice, as asked for.
    case .retry: return pick { job, standing in !job.isAdditive || standing.ends == [.cancelled] }.map(Order.retry)
    case .redrive: return pick { job, _ in job.outcomes.contains("quarantined") }.map(Order.redrive)
    case .priority:
      let value = Int.random(in: -100...100, using: &random)
      return pick { _, _ in true }.map { .priority($0, value) }
    case .pause: return book.pauses(of: queue).contains(false) ? .pause(queue: queue) : nil
    case .resume: return book.pauses(of: queue).contains(true) ? .resume(queue: queue) : nil
    }
  }

  /// The number of a job's file, which is in its ID: 12 in `j-12a`.
  private static func number(of id: String) -> Int {
    Int(id.drop { $0 != "-" }.dropFirst().prefix(while: \.isNumber)) ?? 0
  }

  // MARK: Sending

  /// Sends an order and notes what became of it; false once the daemon is gone.
  private static func give(_ order: Order, to daemon: DaemonProcess, _ book: OrderBook) async throws -> Bool {
    let process = daemon.child.processID
    book.begin(order, noted: JobStart.noted(in: daemon.root))
    var reply = Order.Reply.unknown
    var underWay: [String: Int]?
    do {
      let answer = try await daemon.request("POST", order.path, body: order.body)
      reply = try order.reply(answer.status, answer.body)
      underWay = try await attemptsUnderWay(order, daemon)
    } catch let error as Unexpected {
      throw error
    } catch {
      // The daemon was killed before it answered, or before it told what is under way.
    }
    book.end(order, reply, noted: JobStart.noted(in: daemon.root), daemon: process, underWay: underWay)
    return underWay != nil
  }

  /// The last attempts of the jobs that an order concerns.
  private static func attemptsUnderWay(_ order: Order, _ daemon: DaemonProcess) async throws -> [String: Int] {
    if let id = order.job {
      let job = try await daemon.get("/v1/jobs/\(id)")
      return [id: Int(job["attempt"]?.integer ?? 0)]
    }
    // The number of one that is just beginning is still that of the last.
    let jobs = try await jobs(of: daemon, ["running"])
    return Dictionary(uniqueKeysWithValues: jobs.map { ($0.id, $0.attempt + 1) })
  }

  // MARK: Looking

  struct ShownJob: Sendable {
    let id: String
    let state: String
    let queue: String
    let attempt: Int
    let priority: Int
  }

  static let unfinished = ["available", "scheduled", "waiting", "held", "running", "retryable"]

  static func jobs(of daemon: DaemonProcess, _ states: [String]) async throws -> [ShownJob] {
    let query = ["state": states.joined(separator: ","), "limit": "10000"]
    let reply = try await daemon.request("GET", "/v1/jobs", query: query)
    return try #require(reply.body["jobs"]?.array).map { job in
      ShownJob(
        id: try #require(job["id"]?.string), state: try #require(job["state"]?.string),
        queue: try #require(job["queue"]?.string), attempt: Int(try #require(job["attempt"]?.integer)),
        priority: Int(try #require(job["priority"]?.integer)))
    }
  }

  /// What a daemon that has just been started does otherwise than its predecessors were ordered.
  static func problems(_ ledger: Ledger, _ daemon: DaemonProcess) async throws -> [Problem] {
    var problems: [Problem] = []
    func note(_ text: String) { problems.append(Problem(kind: .other, description: "after the start, " + text)) }
    let book = ledger.orders
    let pauses = try await daemon.get("/v1/status")["pauses"]?.array?.compactMap { $0["name"]?.string } ?? []
    for queue in queues where !book.pauses(of: queue).contains(pauses.contains(queue)) {
      note("\(queue) is \(pauses.contains(queue) ? "" : "not ")paused")
    }
    let shown = try await jobs(of: daemon, unfinished)
    let states = Dictionary(uniqueKeysWithValues: shown.map { ($0.id, $0) })
    for job in ledger.jobs {
      let (standing, shown) = (book.standing(of: job.id), states[job.id])
      // One that is being cancelled is shown as held.
      let isOwn = standing.ends == [.own] && (job.needs.isEmpty || standing.revived == [true])
      if isOwn && !standing.held.contains(shown?.state == "held") {
        let wanted = standing.held.contains(true) ? "" : "not "
        note("\(job.id) is \(shown?.state ?? "over"), and it should \(wanted)be held")
      }
      guard let shown else { continue }
      if !standing.priorities.contains(shown.priority) {
        note("\(job.id) has the priority \(shown.priority), not \(standing.priorities.sorted())")
      }
      if shown.state == "running" && book.pauses(of: shown.queue) == [true] {
        note("\(job.id) is running, although its queue \(shown.queue) is paused")
      }
    }
    return problems
  }

  /// Lets everything go on that orders keep back, and waits until all jobs are over.
  static func release(_ ledger: Ledger, _ daemon: DaemonProcess) async throws {
    for queue in queues { _ = try await give(.resume(queue: queue), to: daemon, ledger.orders) }
    for job in try await jobs(of: daemon, ["held"]) {
      _ = try await give(.release(job.id), to: daemon, ledger.orders)
    }
    try await daemon.waitUntilSpoolIsEmpty(seconds: 120)
    // A job that was put back has no file that would tell of its end.
    for round in 1... {
      let left = try await jobs(of: daemon, unfinished).map(\.id)
      if left.isEmpty { break }
      try #require(round < 10, "\(left) come to no end")
      let witness = "witness-\(daemon.child.processID)-\(round)"
      ledger.expect(.noop(witness))
      let names = left.map { "\"\($0)\"" }.joined(separator: ", ")
      _ = try await daemon.submit(#"{"type": "noop", "id": "\#(witness)", "afterAny": [\#(names)]}"#)
    }
    _ = try await daemon.request("POST", "/v1/flush")
  }
}

/// An answer that no order should get.
private struct Unexpected: Error, CustomStringConvertible {
  let description: String
}

extension Order {
  fileprivate var path: String {
    switch self {
    case .pause: "/v1/pause"
    case .resume: "/v1/resume"
    default: "/v1/commands"
    }
  }

  fileprivate var body: String {
    switch self {
    case .cancel(let id): #"{"command": "cancel", "jobs": ["\#(id)"]}"#
    case .hold(let id): #"{"command": "hold", "jobs": ["\#(id)"]}"#
    case .release(let id): #"{"command": "release", "jobs": ["\#(id)"]}"#
    case .retry(let id): #"{"command": "retry", "jobs": ["\#(id)"]}"#
    case .redrive(let id): #"{"command": "redrive", "jobs": ["\#(id)"]}"#
    case .priority(let id, let value): #"{"command": "priority", "value": \#(value), "jobs": ["\#(id)"]}"#
    case .pause(let queue), .resume(let queue): #"{"queue": "\#(queue)"}"#
    }
  }

  fileprivate func reply(_ status: Int, _ body: JSONValue) throws -> Reply {
    guard status == 200 else { throw Unexpected(description: "\(self): \(status) \(body.serialized())") }
    guard job != nil else { return .done }
    switch body["jobs"]?.array?.first?["result"]?.string {
    case "done": return .done
    case "not-found", "not-possible", "reverting": return .refused
    default: throw Unexpected(description: "\(self): \(body.serialized())")
    }
  }
}
