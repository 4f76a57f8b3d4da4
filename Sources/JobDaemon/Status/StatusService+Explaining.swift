import Foundation
import HTTPService
import JSONText
import Jobs
import ObjectGraph
import TextSupport

/// Requests that explain jobs and queues.
extension StatusService {
  func addExplanations(to router: inout GuardedRouter) {
    router.on(.get, "/v1/jobs/:id/why", needs: .reading) { request, parameters in
      self.why(parameters["id"], request)
    }
    router.on(.get, "/v1/jobs/:id/attempts", needs: .reading) { request, parameters in
      self.attempts(parameters["id"], request)
    }
    router.on(.get, "/v1/queues", needs: .reading) { _, _ in .now(Self.json(self.queues())) }
  }

  private func why(_ id: String, _ request: HTTPRequest) -> HTTPReply {
    read(request) { context, core in
      guard let job = try Self.job(id, context) else { return Self.noJob(id) }
      let objectID = job.objectID
      let state = core.live(job)?.state ?? job.currentState
      let obstacles = core.scheduler.read { schedule, now in schedule.obstacles(of: objectID, at: now) }
      let failure = core.live(job)?.failure ?? job.failure
      var reasons = try obstacles.map { try Self.words($0, failure, context) }
      if let ending = core.live(job)?.ending { reasons.append("it runs, and was told to end: \(ending)") }
      if reasons.isEmpty || state == .held, let failure { reasons.append(failure) }
      return Self.json(
        .object([
          "id": .string(id), "state": .string(state.rawValue), "reasons": .array(reasons.map(JSONValue.string)),
        ]))
    }
  }

  /// - Parameter failure: the failure of its last attempt, if it failed.
  private static func words(
    _ obstacle: Schedule.Obstacle, _ failure: String?, _ context: isolated ManagedObjectContext
  ) throws -> String {
    switch obstacle {
    case .held: "it is held; `bobbinctl release` resumes it"
    case .notBefore(let time):
      "it is not to run before \(JobJSON.time(Date(timeIntervalSince1970: Double(time) / 1000)).string ?? "")"
    case .backoff(let time):
      "its last attempt failed, and the next one is in \(span(time))" + (failure.map { ": \($0)" } ?? "")
    case .job(let id): "it waits for the job \"\(try context.job(with: id).id)\", which is not completed"
    case .unknownJob(let name): "it waits for the job \"\(name)\", which nobody has submitted yet"
    case .batch(let name, let count): "it waits for the batch \"\(name)\", of which \(count) jobs are unfinished"
    case .paused(let name): "\(name) is paused; `\(name.resumeCommand)` ends the pause"
    case .concurrency(let name, let limit): "\(name) has reached its limit of \(limit) running jobs"
    case .rate(let name, let time): "\(name) lets the next job start in \(span(time))"
    case .queue(let count):
      count == 0 ? "it is the next to run" : "\(count) jobs are ahead of it"
    }
  }

  private static func span(_ milliseconds: Int64) -> String {
    TimeSpan.words(seconds: Double(milliseconds) / 1000)
  }

  private func attempts(_ id: String, _ request: HTTPRequest) -> HTTPReply {
    read(request) { context, core in
      guard let job = try Self.job(id, context) else { return Self.noJob(id) }
      var request = FetchRequest<Attempt>(.compare(.keyPath(["job"]), .equal, .object(job.objectID), []))
      request.sortDescriptors = [.ascending("number")]
      var attempts = try context.fetch(request).map { attempt in
        JSONValue.object([
          "number": .integer(Int64(attempt.number)), "outcome": .string(attempt.outcome),
          "startedAt": JobJSON.time(attempt.startedAt), "finishedAt": JobJSON.time(attempt.finishedAt),
          "error": attempt.failure.map(JSONValue.string) ?? .null, "evidence": JobJSON.json(attempt.evidence),
          "log": attempt.log.map(JSONValue.string) ?? .null,
        ])
      }
      if let running = core.scheduler.running(job.objectID)?.attempt, let log = running.execution.log {
        attempts.append(Self.json(running, log: log))
      }
      return Self.json(.object(["id": .string(id), "attempts": .array(attempts)]))
    }
  }

  /// A running attempt, with its log so far.
  private static func json(_ attempt: CurrentAttempt, log: String) -> JSONValue {
    .object([
      "number": .integer(Int64(attempt.number)), "outcome": .string(JobState.running.rawValue),
      "startedAt": JobJSON.time(attempt.started), "finishedAt": .null, "error": .null, "evidence": .null,
      "log": .string(log),
    ])
  }

  /// The queues and types that have jobs, limits or a pause.
  private func queues() -> JSONValue {
    let views = core.scheduler.read { schedule, _ in schedule.resourceViews }
    var queues: [(name: String, value: JSONValue)] = []
    var types: [(name: String, value: JSONValue)] = []
    var isPaused = false
    for view in views {
      switch view.name {
      case .everything: isPaused = view.isPaused
      case .queue(let name): queues.append((name, Self.json(name, view)))
      case .type(let name): types.append((name, Self.json(name, view)))
      case .key: break
      }
    }
    return .object([
      "paused": .bool(isPaused),
      "queues": .array(queues.sorted { $0.name < $1.name }.map(\.value)),
      "types": .array(types.sorted { $0.name < $1.name }.map(\.value)),
    ])
  }

  private static func json(_ name: String, _ view: Schedule.ResourceView) -> JSONValue {
    var jobs: JSONObject = [:]
    for state in JobState.allCases where !state.isFinal {
      jobs[state.rawValue] = .integer(Int64(view.counts[state] ?? 0))
    }
    return .object([
      "name": .string(name), "paused": .bool(view.isPaused),
      "concurrency": view.concurrent.map { .integer(Int64($0)) } ?? .null, "jobs": .object(jobs),
    ])
  }
}

extension StatusService {
  /// Adds the requests about what imports have rejected.
  func addRejects(to router: inout GuardedRouter) {
    router.on(.get, "/v1/jobs/:id/rejects", needs: .reading) { request, parameters in
      self.rejects(parameters["id"], request)
    }
  }

  private func rejects(_ id: String, _ request: HTTPRequest) -> HTTPReply {
    let limit = request.query("limit").map { Int($0) } ?? 1_000
    let after = request.query("after").map { Int64($0) } ?? -1
    guard let limit, (1...10_000).contains(limit), let after else {
      return .now(.failure(400, code: "bad-request", message: "limit is 1 to 10000, after is a byte offset"))
    }
    return read(request) { context, core in
      guard let job = try Self.job(id, context) else { return Self.noJob(id) }
      let isJobs = Condition.compare(.keyPath(["job"]), .equal, .object(job.objectID), [])
      var request = FetchRequest<ImportReject>(
        .and([isJobs, .compare(.keyPath(["byteOffset"]), .greater, .value(.integer(after)), [])]))
      request.sortDescriptors = [.ascending("byteOffset")]
      request.fetchLimit = limit
      let rejects = try context.fetch(request)
      let state = try context.fetch(FetchRequest<ImportState>(isJobs, limit: 1)).first
      return Self.json(
        .object([
          "id": .string(id), "total": .integer(Int64(try context.count(for: FetchRequest<ImportReject>(isJobs)))),
          "found": .integer(state?.rejects ?? 0),
          "header": state?.header.map(JSONValue.string) ?? .null, "input": JobJSON.json(state?.form),
          "rejects": .array(rejects.map(Self.json)),
          "next": rejects.count == limit ? rejects.last.map { .integer($0.byteOffset) } ?? .null : .null,
        ]))
    }
  }

  private static func json(_ reject: ImportReject) -> JSONValue {
    .object([
      "line": .integer(reject.line), "byteOffset": .integer(reject.byteOffset),
      "column": reject.column.map(JSONValue.string) ?? .null, "rule": .string(reject.rule),
      "message": .string(reject.message), "raw": .string(reject.raw),
    ])
  }

  /// The number of records that an import has rejected so far; nil for jobs of other types.
  static func rejectCount(of job: Job, _ context: isolated ManagedObjectContext) throws -> JSONValue? {
    guard job.type == "import" else { return nil }
    let condition = Condition.compare(.keyPath(["job"]), .equal, .object(job.objectID), [])
    return .integer(try context.fetch(FetchRequest<ImportState>(condition, limit: 1)).first?.rejects ?? 0)
  }
}
