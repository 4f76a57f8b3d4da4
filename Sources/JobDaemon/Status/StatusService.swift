import Configuration
import Dispatch
import Foundation
import HTTPService
import JSONText
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport

/// Answers the status API; Documentation/StatusAPI.md lists each request, reply and error.
///
/// Handlers run on the server's one thread: what can be told from memory is told at once, what needs the store is read
/// in a context of its own, so that main is never occupied.
final class StatusService: Sendable {
  let core: DaemonCore
  /// For submissions, which wait for the disk.
  private let queues = WorkQueues(label: "submissions", count: 4)

  private let waits = WaitingClients()

  init(_ core: DaemonCore) { self.core = core }

  /// The routes.
  func router() -> Router {
    var router = Router()
    router.on(.get, "/v1/status") { request, _ in self.guarded(request) { .now(self.status()) } }
    router.on(.get, "/v1/jobs") { request, _ in self.guarded(request) { self.jobs(request) } }
    router.on(.get, "/v1/jobs/:id") { request, parameters in
      self.guarded(request) { self.job(parameters["id"]) }
    }
    router.on(.post, "/v1/jobs") { request, _ in self.submit(request) }
    addCommands(to: &router)
    addExplanations(to: &router)
    addRejects(to: &router)
    router.on(.get, "/healthz") { _, _ in .now(self.health()) }
    return router
  }

  // MARK: Access

  /// Lets a request through if its peer may read.
  func guarded(_ request: HTTPRequest, _ reply: () -> HTTPReply) -> HTTPReply {
    if Access(request.peer).mayRead(core.configuration.value.status.readAccess) { return reply() }
    return .now(
      .failure(
        403, code: "forbidden", message: "this user may not read the status",
        hint: "join the group bobbin, or set [Status] ReadAccess=everyone"))
  }

  // MARK: Status and health

  private func status() -> HTTPResponse { Self.json(core.statusJSON()) }

  private func health() -> HTTPResponse {
    if let problem = core.problem {
      return Self.json(.object(["status": "failing", "reason": .string(problem)]), status: 503)
    }
    return Self.json(.object(["status": "ok"]))
  }

  // MARK: Jobs

  private func jobs(_ request: HTTPRequest) -> HTTPReply {
    let limit = request.query("limit").map { Int($0) } ?? 100
    let offset = request.query("offset").map { Int($0) } ?? 0
    guard let limit, (1...10_000).contains(limit), let offset, offset >= 0 else {
      return .now(.failure(400, code: "bad-request", message: "limit is 1 to 10000, offset 0 or more"))
    }
    let selection: JobSelection
    switch Self.selection(request) {
    case .success(let found): selection = found
    case .failure(let refusal): return .now(.failure(400, code: "bad-request", message: refusal.reason))
    }
    return read { context, core in
      let (jobs, total) = try selection.page(context, core.scheduler, limit: limit, offset: offset)
      let list = jobs.map { JobJSON($0, live: core.live($0), withArguments: false).value }
      return Self.json(.object(["jobs": .array(list), "total": .integer(Int64(total))]))
    }
  }

  /// Why a request can't be understood.
  private struct Refusal: Error { let reason: String }

  private static func selection(_ request: HTTPRequest) -> Result<JobSelection, Refusal> {
    var selection = JobSelection(
      queue: request.query("queue"), type: request.query("type"), batch: request.query("batch"))
    if let name = request.query("state") {
      guard let state = JobState(rawValue: name) else {
        let known = JobState.allCases.map(\.rawValue).joined(separator: ", ")
        return .failure(Refusal(reason: "there is no state \"\(displayName(name))\"; there are \(known)"))
      }
      selection.state = state
    }
    return .success(selection)
  }

  private func job(_ id: String) -> HTTPReply {
    read { context, core in
      guard let job = try Self.job(id, context) else { return Self.noJob(id) }
      var json = JobJSON(job, live: core.live(job), withArguments: true)
      json.rejects = try Self.rejectCount(of: job, context)
      return Self.json(json.value)
    }
  }

  static func noJob(_ id: String) -> HTTPResponse {
    .failure(
      404, code: "not-found", message: "there is no job \"\(displayName(id))\"",
      hint: "`bobbinctl list` shows the jobs")
  }

  static func job(_ id: String, _ context: isolated ManagedObjectContext) throws -> Job? {
    try context.fetch(
      FetchRequest<Job>(.compare(.keyPath(["id"]), .equal, .value(.string(id)), []), limit: 1)
    ).first
  }

  /// Answers from a context of its own, on another thread than the server's.
  func read(
    _ body: @escaping @Sendable (isolated ManagedObjectContext, DaemonCore) throws -> HTTPResponse
  ) -> HTTPReply {
    .later { [core] responder in
      let context = ManagedObjectContext(parent: core.main, name: "status")
      context.perform { context in
        do {
          _ = responder.respond(try body(context, core))
        } catch {
          core.engine.report(error, "a status request can't be answered")
          _ = responder.respond(.failure(500, code: "store", message: "the store can't be read: \(error)"))
        }
      }
    }
  }

  // MARK: Submitting

  private func submit(_ request: HTTPRequest) -> HTTPReply {
    guard Access(request.peer).maySubmit else {
      return .now(
        .failure(
          403, code: "forbidden", message: "this user may not submit jobs over the socket",
          hint: "join the group bobbin, or drop the file into \(core.paths.spoolNew)"))
    }
    let seconds = request.query("wait").map { Double($0) ?? -1 }
    if let seconds, !(0...86_400).contains(seconds) {
      return .now(.failure(400, code: "bad-request", message: "wait is a number of seconds, at most 86400"))
    }
    let wait = seconds.map { Duration.seconds($0) }
    switch core.intake.refusal {
    case .stopping: return .now(.failure(503, code: "draining", message: "the daemon is stopping; try again later"))
    case .storageFull:
      return .now(.failure(503, code: "storage-full", message: "the disk of the store is full; try again later"))
    case .storeBusy: return .now(Self.storeBusy)
    default: break
    }
    if seconds != nil && waits.isFull(of: core.configuration.value.status.maxConnections) {
      return .now(
        .failure(
          503, code: "busy", message: "as many clients as may wait for jobs do so already",
          hint: "submit without waiting, or raise [Status] MaxConnections"))
    }
    if core.releaser.isFull {
      return .now(
        .failure(503, code: "busy", message: "as many jobs as the daemon takes on are unfinished; try again later"))
    }
    let limit = core.configuration.value.spool.maxJobFileSize
    if request.body.count > limit {
      return .now(
        .failure(
          413, code: "body-too-large", message: "a job file may have \(limit) bytes",
          hint: "set [Spool] MaxJobFileSize, or split the file"))
    }
    let body = request.body
    let submitter = request.peer?.user ?? Credentials.effectiveUser
    // The reply has its own deadline; the wait ends before it.
    return .later(within: (wait ?? .zero) + .seconds(60)) { responder in
      self.queues.async { self.accept(body, submitter, wait, responder) }
    }
  }

  private static let storeBusy = HTTPResponse.failure(
    503, code: "store-busy", message: "another program keeps the store locked; try again later",
    hint: "end the transaction of that program, such as sqlite3")

  private func accept(_ body: Data, _ submitter: UInt32, _ wait: Duration?, _ responder: HTTPResponder) {
    do {
      let ids = try core.accept(body, submitter: submitter)
      guard let wait else { return answer(ids, responder, status: 202) }
      waits.enter()
      let waiting = SubmissionWait(ids, core) { [self] isOver in
        waits.leave()
        answer(ids, responder, status: isOver ? 200 : 202)
      }
      waiting.begin(limit: wait)
    } catch let error as JobFileError {
      _ = responder.respond(.failure(400, code: "invalid-job", message: error.description))
    } catch let error as StoreError where error.code == .busy {
      _ = responder.respond(Self.storeBusy)
    } catch let error as StoreError where error.code == .full {
      _ = responder.respond(.failure(503, code: "storage-full", message: "the store can't be written: \(error)"))
    } catch let error as SystemError where error.code == .diskFull || error.code == .quotaExceeded {
      _ = responder.respond(.failure(503, code: "storage-full", message: "the spool can't be written: \(error)"))
    } catch {
      core.engine.report(error, "a submitted job can't be accepted")
      _ = responder.respond(.failure(500, code: "spool", message: "the job can't be written to the spool: \(error)"))
    }
  }

  /// Shows submitted jobs, in the order of their file; a few hundred at a time, since there may be very many.
  private func answer(_ ids: [ManagedObjectID], _ responder: HTTPResponder, status: Int) {
    ManagedObjectContext(parent: core.main, name: "submission").perform { [core] context in
      do {
        var body = Data("{\"jobs\":[".utf8)
        for start in stride(from: 0, to: ids.count, by: 500) {
          let part = ids[start..<min(start + 500, ids.count)]
          let list = try Self.jobs(part, context, core)
          if start > 0 && !list.isEmpty { body.append(UInt8(ascii: ",")) }
          body.append(contentsOf: list)
          context.reset()
        }
        body.append(contentsOf: "]}".utf8)
        _ = responder.respond(.json(data: body, status: status))
      } catch {
        _ = responder.respond(.failure(500, code: "store", message: "the store can't be read: \(error)"))
      }
    }
  }

  /// Jobs as JSON, with commas between them.
  private static func jobs(
    _ ids: ArraySlice<ManagedObjectID>, _ context: isolated ManagedObjectContext, _ core: DaemonCore
  ) throws -> [UInt8] {
    // Most are over, so one look at the schedule tells it of all.
    let unreleased = core.scheduler.read { schedule, _ in Set(ids.filter(schedule.contains)) }
    var jobs: [ManagedObjectID: [UInt8]] = [:]
    let request = FetchRequest<Job>(.isIn(.evaluatedObject, ids.map(Operand.object), []))
    for job in try context.fetch(request) {
      let live = unreleased.contains(job.objectID) ? core.live(job) : nil
      jobs[job.objectID] = JobJSON(job, live: live, withArguments: false).value.serializedBytes()
    }
    return Array(ids.compactMap { jobs[$0] }.joined(separator: [UInt8(ascii: ",")]))
  }

  static func json(_ value: JSONValue, status: Int = 200) -> HTTPResponse {
    .json(data: Data(value.serializedBytes()), status: status)
  }
}
