import ControlClient
import Foundation
import StatusReplies

/// The content of a frame of `top`: the daemon's replies to one look, and what follows from those before.
struct TopData: Sendable {
  var status: StatusReply
  var queues = QueuesReply(paused: false, queues: [], types: [])
  var running: [JobReply] = []
  /// Jobs that were discarded or quarantined, the newest first.
  var failures: [JobReply] = []
  /// Jobs that end in a second; nil until there were two looks.
  var rate: Double?
  /// The reason why this is not new; nil if it is.
  var problem: String?
  /// The moment of the look.
  var time = Date()
}

/// Looks at the daemon again and again.
struct TopCollector: Sendable {
  /// The most running jobs and failures that are asked for.
  private static let limits = (running: 1_000, failures: 100)
  /// The looks after which failures are asked for again though the daemon has counted no new one: other hosts of a fleet
  /// have failures as well.
  private static let looksPerFailures = 10

  private var pace = JobPace(span: .seconds(10))
  private var failures: [JobReply] = []
  private var failureCount: Int?
  private var looks = 0

  /// Asks the daemon what it does: three requests, and a fourth when jobs have failed.
  mutating func look(_ session: Session) throws(ToolError) -> TopData {
    let status = try ask(session, ["v1", "status"]).decoded(as: StatusReply.self)
    var data = TopData(status: status)
    data.queues = try ask(session, ["v1", "queues"]).decoded(as: QueuesReply.self)
    data.running = try jobs(session, "running", limit: Self.limits.running)
    let failed = status.count(of: [.discarded, .quarantined])
    if failed != failureCount || looks % Self.looksPerFailures == 0 {
      failures = try jobs(session, "discarded,quarantined", limit: Self.limits.failures)
        .sorted { ($0.finishedAt?.date ?? .distantPast) > ($1.finishedAt?.date ?? .distantPast) }
      failureCount = failed
    }
    looks += 1
    data.failures = failures
    pace.note(done: status.count(of: [.completed, .discarded, .cancelled, .quarantined]), at: .now)
    data.rate = looks > 1 ? pace.rate ?? 0 : nil
    return data
  }

  private func jobs(_ session: Session, _ states: String, limit: Int) throws(ToolError) -> [JobReply] {
    let query = [URLQueryItem(name: "state", value: states), URLQueryItem(name: "limit", value: "\(limit)")]
    return try ask(session, ["v1", "jobs"], query: query).decoded(as: JobsReply.self).jobs
  }

  private func ask(_ session: Session, _ path: [String], query: [URLQueryItem] = []) throws(ToolError) -> Reply {
    try Reply.received(
      from: session.client, "GET", path.map { "/" + $0 }.joined(), query: query, timeout: .seconds(5)
    ).accepted(refusal: .unavailable)
  }
}

extension StatusReply {
  /// The number of jobs in these states: of final ones, those that ended since the daemon's start.
  fileprivate func count(of states: [JobReply.State]) -> Int {
    states.reduce(0) { $0 + (jobs?[$1.rawValue] ?? 0) }
  }
}
