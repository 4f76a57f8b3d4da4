import Foundation
import HTTPService
import JSONText
import JobSchedule
import Jobs
import ObjectGraph
import StatusReplies
import SystemSupport

/// Requests that change jobs, queues and the writer.
extension StatusService {
  func addCommands(to router: inout GuardedRouter) {
    router.on(.post, "/v1/commands", needs: .changing) { request, _ in self.changing(request, self.command) }
    router.on(.post, "/v1/pause", needs: .changing) { request, _ in
      self.changing(request) { (body, _, responder) throws(JobFileError) in
        try self.setPaused(true, body, responder: responder)
      }
    }
    router.on(.post, "/v1/resume", needs: .changing) { request, _ in
      self.changing(request) { (body, _, responder) throws(JobFileError) in
        try self.setPaused(false, body, responder: responder)
      }
    }
    router.on(.post, "/v1/flush", needs: .changing) { request, _ in
      self.changing(request) { (_, _, responder) throws(JobFileError) in self.flush(responder) }
    }
  }

  /// The change that a request makes, given its body and its user.
  typealias Change = @Sendable (JSONValue, UInt32, HTTPResponder) throws(JobFileError) -> Void

  /// Reads a request's body, and makes the change.
  func changing(_ request: HTTPRequest, _ change: @escaping Change) -> HTTPReply {
    let value: JSONValue
    do throws(JSONError) {
      value = request.body.isEmpty ? .object([:]) : try JSONValue(parsing: Array(request.body), dialect: .json)
    } catch {
      return .now(.failure(400, code: "bad-request", message: "the body is not JSON: \(error)"))
    }
    let user = request.peer?.user ?? Credentials.effectiveUser
    return .later(within: .seconds(120)) { responder in
      do throws(JobFileError) { try change(value, user, responder) } catch {
        _ = responder.respond(.failure(400, code: "bad-request", message: error.description))
      }
    }
  }

  private func command(_ body: JSONValue, _ user: UInt32, responder: HTTPResponder) throws(JobFileError) {
    let request = try CommandRequest(body, user: user)
    switch request.target {
    case .ids(let ids):
      daemon.control.perform(request.command, on: ids) { result in
        self.respond(responder, result) { replies in
          let jobs = replies.map { CommandReply.Job($0.id, $0.reply) }
          return CommandReply(done: replies.count { $0.reply == .done }, jobs: jobs).json
        }
      }
    case .all(let selection):
      daemon.control.perform(request.command, onAll: selection) { result in
        self.respond(responder, result) { CommandReply(done: $0).json }
      }
    }
  }

  private func setPaused(_ isPaused: Bool, _ body: JSONValue, responder: HTTPResponder) throws(JobFileError) {
    let reader = try ArgumentReader(body, path: "")
    try reader.allow(["queue", "type"])
    let resource: Resource.Name
    switch (try reader.line("queue", limit: 100), try reader.line("type", limit: 100)) {
    case (let queue?, nil): resource = .queue(queue)
    case (nil, let type?): resource = .type(type)
    case (nil, nil): resource = .everything
    default: throw JobFileError("one request pauses or resumes a queue or a type, not both")
    }
    daemon.control.setPaused(isPaused, resource) { [daemon] result in
      daemon.tellStatus()
      self.respond(responder, result) { PauseReply(paused: isPaused, pauses: daemon.pauseReplies).json }
    }
  }

  private func flush(_ responder: HTTPResponder) {
    Task(executorPreference: WorkQueues.tasks, priority: .medium) { [daemon] in
      await daemon.merger.mergeAndWait()
      if await daemon.flusher.flush() { return _ = responder.respond(Self.json(.object(["flushed": true]))) }
      _ = responder.respond(
        .failure(503, code: "storage-full", message: "the store can't be written; see /v1/status for the reason"))
    }
  }

  /// Responds once the change is durable, lest a crash undo what an operator was told.
  private func respondWhenDurable(_ responder: HTTPResponder, _ reply: JSONValue) {
    Task(executorPreference: WorkQueues.tasks, priority: .medium) { [daemon] in
      await daemon.merger.mergeAndWait()
      if await daemon.flusher.flush() { return _ = responder.respond(Self.json(reply)) }
      _ = responder.respond(
        .failure(
          503, code: "storage-full", message: "it is done, but not on disk, as the store can't be written",
          hint: "`bobbinctl status` shows the reason"))
    }
  }

  /// Responds with what a change has come to.
  func respond<Value>(
    _ responder: HTTPResponder, _ result: Result<Value, any Error>, json: (Value) -> JSONValue
  ) {
    switch result {
    case .success(let value): respondWhenDurable(responder, json(value))
    case .failure(is JobControl.IsClosed):
      _ = responder.respond(
        .failure(503, code: "draining", message: "the daemon is stopping; try again when it is back"))
    case .failure(let error as NoAnswer): _ = responder.respond(Self.noLead(error))
    case .failure(let error):
      daemon.engine.report(error, "a command can't be carried out")
      _ = responder.respond(.failure(500, code: "store", message: "it can't be carried out: \(error)"))
    }
  }
}

/// The request in the body of `POST /v1/commands`.
struct CommandRequest: Sendable, Equatable {
  /// The jobs that the command is for.
  enum Target: Sendable, Equatable {
    case ids([String])
    case all(JobSelection)
  }

  let command: JobControl.Command
  let target: Target
  /// The most IDs in one request.
  static let idLimit = 10_000

  private static let commands = ["cancel", "hold", "release", "retry", "redrive", "priority"]

  /// Reads a body.
  ///
  /// - Parameter user: the user who asks, for the reason in a cancelled job's record.
  /// - Throws: ``JobFileError`` that names the key.
  init(_ body: JSONValue, user: UInt32) throws(JobFileError) {
    guard let object = body.object else { throw JobFileError("the body must be an object, not \(body.kindName)") }
    let reader = try ArgumentReader(body, path: "")
    try reader.allow(["command", "jobs", "where", "value", "reason"])
    let name = try reader.requiredText("command")
    switch name {
    case "cancel":
      command = .cancel(reason: try reader.line("reason", limit: 1_000) ?? "cancelled by user \(user)")
    case "hold": command = .hold
    case "release": command = .release
    case "retry": command = .retry
    case "redrive": command = .redrive
    case "priority":
      guard let value = try reader.integer("value", in: -100...100) else { throw reader.error("is missing", "value") }
      command = .setPriority(value)
    default:
      throw reader.error("must be one of \(Self.commands.joined(separator: ", ")), but is \"\(name)\"", "command")
    }
    target = try Self.target(object, reader)
  }

  private static func target(_ object: JSONObject, _ reader: ArgumentReader) throws(JobFileError) -> Target {
    if let jobs = object["jobs"] {
      if object["where"] != nil { throw reader.error("can't stand beside \"jobs\"", "where") }
      guard let list = jobs.array, list.count <= idLimit, list.allSatisfy({ $0.string != nil }) else {
        throw reader.error("must be a list of at most \(idLimit) IDs", "jobs")
      }
      return .ids(list.compactMap(\.string))
    }
    guard let condition = object["where"] else {
      throw JobFileError("\"jobs\" or \"where\" must say which jobs are meant")
    }
    return .all(try JobSelection(condition))
  }
}

extension JobSelection {
  private static let keys = ["state", "queue", "type", "batch"]

  /// Reads `{"queue": "images", "state": ["waiting", "held"]}`; one state needs no list.
  fileprivate init(_ value: JSONValue) throws(JobFileError) {
    let reader = try ArgumentReader(value, path: "where")
    try reader.allow(Self.keys)
    self.init(
      states: try Self.states(value.object?["state"], reader), queue: try reader.text("queue"),
      type: try reader.text("type"),
      batch: try reader.text("batch"))
    // Nobody should cancel everything by mistake.
    if self == JobSelection() { throw JobFileError("must name \(Self.keys.joined(separator: ", "))", key: "where") }
  }

  private static func states(_ value: JSONValue?, _ reader: ArgumentReader) throws(JobFileError) -> Set<JobState> {
    guard let value, !value.isNull else { return [] }
    let names = value.array ?? [value]
    var states: Set<JobState> = []
    for name in names {
      guard let state = name.string.flatMap(JobState.init) else {
        let known = JobState.allCases.map(\.rawValue).joined(separator: ", ")
        throw reader.error("must be one of \(known), or a list of them, but is \(name.serialized())", "state")
      }
      states.insert(state)
    }
    if states.isEmpty { throw reader.error("must name a state", "state") }
    return states
  }
}

extension CommandReply.Job {
  fileprivate init(_ id: String, _ reply: JobControl.Reply) {
    switch reply {
    case .done: self.init(id: id, result: .done)
    case .unknown: self.init(id: id, result: .notFound)
    case .reverting: self.init(id: id, result: .reverting)
    case .ambiguous(let ids): self.init(id: id, result: .ambiguous, candidates: ids)
    case .impossible(let state):
      self.init(id: id, result: .notPossible, state: .init(rawValue: state.rawValue))
    case .keyTaken(let state, let owner):
      self.init(id: id, result: .notPossible, state: .init(rawValue: state.rawValue), uniqueOwner: owner)
    }
  }
}
