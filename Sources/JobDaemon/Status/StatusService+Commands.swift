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
    router.on(.post, "/v1/commands", needs: .changing, as: CommandRequest.description) { request, _ in
      // A selection may have very many jobs.
      self.changing(request, within: .seconds(3600)) { (body, responder) throws(JobFileError) in
        let command = try CommandRequest(body, asker: request.client.wordsWithName)
        self.perform(command, by: self.changer(request.client), responder: responder)
      }
    }
    for (name, isPaused) in [("pause", true), ("resume", false)] {
      router.on(
        .post, "/v1/" + name, needs: .controlling,
        as: .init(
          isPaused ? "Stops the start of jobs" : "Resumes the start of jobs", .reply(PauseReply.self),
          body: .object(["queue": ["type": "string"], "type": ["type": "string"]]))
      ) { request, _ in
        self.changing(request) { (body, responder) throws(JobFileError) in
          try self.setPaused(isPaused, body, responder: responder)
        }
      }
    }
    router.on(
      .post, "/v1/jobs/:id/edit", needs: .changing,
      as: .init(
        "Changes the arguments of a job that does not run", .reply(EditReply.self), body: Self.editBody,
        refusals: [403, 404, 409]), tellsBody: false
    ) { request, parameters in
      self.changing(request) { (body, responder) throws(JobFileError) in
        self.edit(parameters["id"], try JobEdit(body), by: self.changer(request.client), responder: responder)
      }
    }
    router.on(
      .post, "/v1/flush", needs: .changing,
      as: .init("Writes computed outcomes to disk", .json(["type": "object", "required": ["flushed"]]), body: .empty)
    ) { request, _ in
      self.changing(request) { (_, responder) throws(JobFileError) in self.flush(responder) }
    }
    router.on(
      .post, "/v1/copy", needs: .changing,
      as: .init(
        "Refreshes the copy of the store for other programs", .reply(StatusReply.Copy.self), body: .empty,
        refusals: [409])
    ) { request, _ in
      // Large stores take their time.
      self.changing(request, within: .seconds(3600)) { (_, responder) throws(JobFileError) in
        self.refreshCopy(responder)
      }
    }
  }

  private static let editBody = RouteDescription.Body.object([
    "set": ["type": "object"], "unset": ["type": "array", "items": ["type": "string"]],
    "arguments": ["type": "object"], "seen": ["type": "object"],
    "priority": ["type": "integer", "minimum": -100, "maximum": 100], "directory": ["type": "string"],
  ])

  /// The change that a request makes, given its body.
  typealias Change = @Sendable (JSONValue, HTTPResponder) throws(JobFileError) -> Void

  /// Reads a request's body, and makes the change.
  ///
  /// - Parameter needsDatabase: false for what can be done while the database of a fleet is away.
  func changing(
    _ request: HTTPRequest, within limit: Duration = .seconds(120), needsDatabase: Bool = true,
    _ change: @escaping Change
  ) -> HTTPReply {
    let value: JSONValue
    do throws(JSONError) {
      value = request.body.isEmpty ? .object([:]) : try JSONValue(parsing: Array(request.body), dialect: .json)
    } catch {
      return .now(.failure(400, code: "bad-request", message: "the body is not JSON: \(error)"))
    }
    guard value.object != nil else {
      return .now(
        .failure(400, code: "bad-request", message: "the body must be an object, not \(value.kindName)"))
    }
    if needsDatabase, let databaseRefusal { return .now(databaseRefusal) }
    return .later(within: limit) { responder in
      do throws(JobFileError) { try change(value, responder) } catch {
        _ = responder.respond(.failure(400, code: "bad-request", message: error.description))
      }
    }
  }

  private func perform(_ request: CommandRequest, by changer: JobChanger, responder: HTTPResponder) {
    switch request.target {
    case .ids(let ids):
      daemon.control.perform(request.command, on: ids, by: changer) { result in
        self.respond(responder, result) { replies in
          let jobs = replies.map { CommandReply.Job($0.id, $0.reply) }
          return CommandReply(done: replies.count { $0.reply == .done }, jobs: jobs).json
        }
      }
    case .all(let selection):
      daemon.control.perform(request.command, onAll: selection, by: changer, isTrial: request.isTrial) { result in
        self.respond(responder, result) { CommandReply($0, isTrial: request.isTrial).json }
      }
    }
  }

  private func edit(_ handle: String, _ edit: JobEdit, by changer: JobChanger, responder: HTTPResponder) {
    daemon.control.edit(handle, edit, by: changer) { result in
      switch result {
      case .failure(let refusal as EditRefusal):
        _ = responder.respond(
          .failure(refusal.status, code: refusal.code.rawValue, message: refusal.message, hint: refusal.hint))
      case .failure(let error as JobHandle.Ambiguous): _ = responder.respond(Self.ambiguous(error))
      case .failure(let error as JobFileError):
        _ = responder.respond(.failure(400, code: "invalid-job", message: error.description))
      default: self.respond(responder, result) { EditReply(id: $0).json }
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

  /// Refreshes the copy for other programs, with everything that was merged by now.
  private func refreshCopy(_ responder: HTTPResponder) {
    Task(executorPreference: WorkQueues.tasks, priority: .medium) { [daemon] in
      await daemon.merger.mergeAndWait()
      // What can't be written is not in the store, of which the copy is.
      _ = await daemon.flusher.flush()
      daemon.copier.refresh { result in
        switch result {
        case .success(let report): responder.respond(Self.json(StatusReply.Copy(report).json))
        case .failure(let failure) where !failure.isConfigured:
          responder.respond(
            .failure(
              409, code: "no-copy", message: failure.description, hint: "set [Store] CopyPath= to where it is to be"))
        case .failure(let failure):
          responder.respond(
            .failure(
              503, code: "copy-failed", message: "the copy can't be made: \(failure)", hint: "the last one stays"))
        }
      }
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
    case .failure(let error as NoAnswer): _ = responder.respond(noLead(error))
    case .failure(let error):
      daemon.engine.report(error, "a command can't be carried out")
      _ = responder.respond(.failure(500, code: "store", message: "it can't be carried out: \(error)"))
    }
  }
}

extension EditRefusal {
  fileprivate var status: Int {
    switch code {
    case .notFound: 404
    case .forbidden: 403
    case .notPossible, .changed: 409
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
  /// True to find the jobs of a selection only.
  let isTrial: Bool
  /// The most IDs in one request.
  static let idLimit = 10_000

  private static let commands = ["cancel", "hold", "release", "retry", "redrive", "priority", "delete"]

  /// The words and schemas of the request for clients.
  static let description = RouteDescription(
    "Cancels, holds, releases, retries, redrives, reprioritises or deletes jobs", .reply(CommandReply.self),
    body: .object(
      [
        "command": ["type": "string", "enum": .array(commands.map(JSONValue.string))],
        "jobs": ["type": "array", "maxItems": .integer(Int64(idLimit)), "items": ["type": "string"]],
        "where": JobSelection.schema, "dryRun": ["type": "boolean"],
        "value": ["type": "integer", "minimum": -100, "maximum": 100],
        "reason": ["type": "string", "maxLength": 1_000],
      ], required: ["command"]), refusals: [409])

  /// Reads a body.
  ///
  /// - Parameter asker: who asks, for the reason in a cancelled job's record.
  /// - Throws: ``JobFileError`` that names the key.
  init(_ body: JSONValue, asker: @autoclosure () -> String) throws(JobFileError) {
    guard let object = body.object else { throw JobFileError("the body must be an object, not \(body.kindName)") }
    let reader = try ArgumentReader(body, path: "")
    try reader.allow(["command", "jobs", "where", "value", "reason", "dryRun"])
    let name = try reader.requiredText("command")
    switch name {
    case "cancel":
      command = .cancel(reason: try reader.line("reason", limit: 1_000) ?? "cancelled by \(asker())")
    case "hold": command = .hold
    case "release": command = .release
    case "retry": command = .retry
    case "redrive": command = .redrive
    case "delete": command = .delete
    case "priority":
      guard let value = try reader.integer("value", in: -100...100) else { throw reader.error("is missing", "value") }
      command = .setPriority(value)
    default:
      throw reader.error("must be one of \(Self.commands.joined(separator: ", ")), but is \"\(name)\"", "command")
    }
    target = try Self.target(object, reader)
    isTrial = try reader.flag("dryRun") ?? false
    if isTrial, case .ids = target { throw reader.error("is for \"where\", not for a list of jobs", "dryRun") }
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
    let selection = try JobSelection(condition, path: "where")
    // Nobody should cancel everything by mistake.
    if selection == JobSelection() {
      throw JobFileError("must name \(JobSelection.keys.joined(separator: ", "))", key: "where")
    }
    return .all(selection)
  }
}

extension CommandReply {
  fileprivate init(_ outcome: JobControl.Outcome, isTrial: Bool) {
    let jobs = outcome.told.map { job in
      job.reply.map { Job(job.id, $0) } ?? Job(id: job.id, result: .matched)
    }
    var counts: [String: Int] = [:]
    for (result, count) in outcome.counts { counts[Result(result).rawValue] = count }
    self.init(
      done: outcome.counts[.done] ?? 0, jobs: jobs, matched: outcome.matched, counts: counts, isDryRun: isTrial)
  }
}

extension CommandReply.Result {
  fileprivate init(_ result: JobControl.CommandResult) {
    self =
      switch result {
      case .done: .done
      case .notPossible: .notPossible
      case .reverting: .reverting
      case .replacing: .replacing
      }
  }
}

extension CommandReply.Job {
  fileprivate init(_ id: String, _ reply: JobControl.Reply) {
    switch reply {
    case .done: self.init(id: id, result: .done)
    case .unknown: self.init(id: id, result: .notFound)
    case .foreign(let submitter): self.init(id: id, result: .notYours, submitter: submitter.map(Int.init))
    case .reverting: self.init(id: id, result: .reverting)
    case .replacing: self.init(id: id, result: .replacing)
    case .ambiguous(let ids): self.init(id: id, result: .ambiguous, candidates: ids)
    case .impossible(let state):
      self.init(id: id, result: .notPossible, state: .init(rawValue: state.rawValue))
    case .keyTaken(let state, let owner):
      self.init(id: id, result: .notPossible, state: .init(rawValue: state.rawValue), uniqueOwner: owner)
    case .needed(let state, let dependent):
      self.init(id: id, result: .notPossible, state: .init(rawValue: state.rawValue), neededBy: dependent)
    case .awaited(let state, let spool):
      self.init(id: id, result: .notPossible, state: .init(rawValue: state.rawValue), awaitedBy: spool ?? "")
    }
  }
}
