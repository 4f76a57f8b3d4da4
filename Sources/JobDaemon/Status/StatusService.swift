import Configuration
import Dispatch
import Foundation
package import HTTPService
import JSONText
import JobSchedule
import Jobs
import ObjectGraph
import StatusReplies
import Synchronization
package import SystemSupport

/// The status API; Documentation/StatusAPI.md lists each request, reply and error.
///
/// Handlers run on the server's one thread: replies from memory are sent at once, and what needs the store is read in a
/// context of its own, so that main is never occupied.
package final class StatusService: Sendable {
  let daemon: Daemon
  /// Queues for submissions, which wait for the disk.
  private let queues = WorkQueues(label: "submissions", count: 4)
  /// Queues for looks at paths, which wait for file systems that may not answer.
  let pathQueues = WorkQueues(label: "paths", count: 2)

  private let waits = WaitingClients()
  /// Turns for reading the store; the owner has turns of its own, which nobody else uses.
  private let turns = ReplyTurns(total: 8, perUser: 2)
  private let ownerTurns = ReplyTurns(total: 8, perUser: 8)
  private let memberGroup: @Sendable () -> UInt32?

  package convenience init(_ daemon: Daemon) { self.init(daemon) { Access.memberGroup } }

  /// - Parameter memberGroup: finds the group of those who may submit and change jobs.
  init(_ daemon: Daemon, memberGroup: @escaping @Sendable () -> UInt32?) {
    self.daemon = daemon
    self.memberGroup = memberGroup
  }

  /// Makes the server of the status API, which is not started yet.
  package func server(on listener: UnixListener) throws -> HTTPServer {
    let settings = daemon.configuration.value.status
    var limits = HTTPServerLimits()
    limits.connections = settings.maxConnections
    limits.reservedConnections = 8
    limits.connectionsPerUser = settings.maxConnectionsPerUser
    limits.connectionsPerStranger = max(1, settings.maxConnectionsPerUser / 4)
    limits.strangerConnections = max(1, settings.maxConnections / 4)
    limits.waitingRequests = limits.connections + limits.reservedConnections
    limits.bodyBytes = settings.maxRequestSize
    let router = router()
    return try HTTPServer(
      listener: listener.descriptor, limits: limits, standing: { self.standing($0) },
      handler: { router.reply(to: $0) })
  }

  /// The routes.
  func router() -> Router {
    var router = GuardedRouter { right, request in self.refusal(right, request) }
    router.on(.get, "/v1/status", needs: .reading) { _, _ in .now(self.status()) }
    router.on(.get, "/v1/jobs", needs: .reading) { request, _ in self.jobs(request) }
    router.on(.get, "/v1/jobs/:id", needs: .reading) { request, parameters in self.job(parameters["id"], request) }
    router.on(.post, "/v1/jobs", needs: .submitting) { request, _ in self.submit(request) }
    addFleet(to: &router)
    addSchedules(to: &router)
    addCommands(to: &router)
    addExplanations(to: &router)
    addRejects(to: &router)
    addPaths(to: &router)
    router.on(.get, "/healthz", needs: .nothing) { _, _ in .now(self.health()) }
    return router.router
  }

  // MARK: Access

  func access(_ peer: PeerCredentials?) -> Access { Access(peer, memberGroup: memberGroup) }

  /// The peer's standing with the server, which limits connections by it.
  private func standing(_ peer: PeerCredentials) -> PeerStanding { access(peer).standing }

  /// The reply to a request without the right; nil if the peer has it.
  private func refusal(_ right: GuardedRouter.Right, _ request: HTTPRequest) -> HTTPResponse? {
    let access = access(request.peer)
    switch right {
    case .nothing: return nil
    case .reading:
      if access.mayRead(daemon.configuration.value.status.readAccess) { return nil }
      return .failure(
        403, code: "forbidden", message: "this user may not read the status",
        hint: "an administrator may add the user to the group bobbin, or set [Status] ReadAccess=everyone")
    case .changing:
      if access.maySubmit { return nil }
      return .failure(
        403, code: "forbidden", message: "this user may not change anything",
        hint: "an administrator may add the user to the group bobbin; it counts from the next login on")
    case .submitting:
      if access.maySubmit { return nil }
      return .failure(
        403, code: "forbidden", message: "this user may not submit jobs over the socket",
        hint: "an administrator may add the user to the group bobbin; it counts from the next login on")
    }
  }

  // MARK: Status and health

  private func status() -> HTTPResponse { Self.json(daemon.statusReply().json) }

  private func health() -> HTTPResponse {
    if let problem = daemon.problem {
      return Self.json(.object(["status": "failing", "reason": .string(problem)]), status: 503)
    }
    return Self.json(.object(["status": "ok"]))
  }

  // MARK: Jobs

  private func jobs(_ request: HTTPRequest) -> HTTPReply {
    let limit = request.query("limit").map { Int($0) } ?? 100
    let offset = request.query("offset").map { Int($0) } ?? 0
    guard let limit, (1...10_000).contains(limit), let offset, (0...1_000_000).contains(offset) else {
      return .now(.failure(400, code: "bad-request", message: "limit is 1 to 10000, offset 0 to 1000000"))
    }
    let selection: JobSelection
    switch Self.selection(request) {
    case .success(let found): selection = found
    case .failure(let refusal): return .now(.failure(400, code: "bad-request", message: refusal.reason))
    }
    let reach = daemon.engine.unfinished.reach
    if offset + limit > reach, selection.states.contains(where: { !$0.isFinal }) {
      return .now(
        .failure(400, code: "bad-request", message: "a list of a fleet's unfinished jobs reaches the last \(reach)"))
    }
    return read(request) { context, daemon in
      let (ids, total, states) = try selection.page(context, daemon.engine.unfinished, limit: limit, offset: offset)
      var body = try Self.list(ids, context, daemon: daemon, states: states)
      body.append(contentsOf: ",\"total\":\(total)".utf8)
      if request.query("counts") == "true" {
        let counts = try selection.counts(context, daemon.engine.unfinished).map { ($0.key.rawValue, $0.value) }
        let json = JSONValue.counts(Dictionary(uniqueKeysWithValues: counts))
        body.append(contentsOf: ",\"counts\":\(json.serialized())".utf8)
      }
      body.append(UInt8(ascii: "}"))
      return .json(data: body)
    }
  }

  /// The reason why a request is malformed.
  private struct Refusal: Error { let reason: String }

  private static func selection(_ request: HTTPRequest) -> Result<JobSelection, Refusal> {
    var selection = JobSelection(
      queue: request.query("queue"), type: request.query("type"), batch: request.query("batch"))
    for name in request.query("state")?.split(separator: ",", omittingEmptySubsequences: false) ?? [] {
      guard let state = JobState(rawValue: String(name)) else {
        let known = JobState.allCases.map(\.rawValue).joined(separator: ", ")
        return .failure(Refusal(reason: "there is no state \"\(displayName(String(name)))\"; there are \(known)"))
      }
      selection.states.insert(state)
    }
    if let text = request.query("submitter") {
      guard let user = UInt32(text) else { return .failure(Refusal(reason: "submitter is the number of a user")) }
      selection.submitter = user
    }
    for (name, time) in [("since", \JobSelection.since), ("until", \JobSelection.until)] {
      guard let text = request.query(name) else { continue }
      guard let date = Timestamp(text: text).date else {
        return .failure(Refusal(reason: "\(name) is a moment such as 2026-11-21T10:00:00Z"))
      }
      selection[keyPath: time] = date
    }
    return .success(selection)
  }

  private func job(_ id: String, _ request: HTTPRequest) -> HTTPReply {
    read(request) { context, daemon in
      guard let job = try JobHandle(text: id).job(in: context) else { return Self.noJob(id) }
      let places = try daemon.engine.unfinished.places(of: job.currentState.isFinal ? [] : [job.objectID])
      let live = daemon.live(job, place: places[job.objectID])
      var reply = JobReply(job, live: live, withArguments: true)
      if let handler = daemon.handlers[job.type] as? any OwnHandler {
        reply.rejects = try handler.rejectCount(of: job, in: context).map(JSONValue.integer)
      }
      return Self.json(reply.json)
    }
  }

  static func noJob(_ id: String) -> HTTPResponse {
    .failure(
      404, code: "not-found", message: "there is no job \"\(displayName(id))\"",
      hint: "`bobbinctl list` shows the jobs")
  }

  /// Answers from a context of its own, on another thread than the server's.
  func read(
    _ request: HTTPRequest,
    _ body: @escaping @Sendable (isolated ManagedObjectContext, Daemon) throws -> HTTPResponse
  ) -> HTTPReply {
    .later { responder in
      self.acquireTurn(request.peer, responder) { turn in
        ManagedObjectContext(parent: self.daemon.main, name: "status").perform { context in
          do {
            turn.respond(try body(context, self.daemon))
          } catch let error as NoAnswer {
            turn.respond(Self.noLead(error))
          } catch let error as JobHandle.Ambiguous {
            turn.respond(
              .failure(
                409, code: "ambiguous", message: "\"\(displayName(error.handle))\" may be one of \(error.list)",
                hint: "give more of the ID"))
          } catch {
            self.daemon.engine.report(error, "a status request can't be answered")
            turn.respond(.failure(500, code: "store", message: "the store can't be read: \(error)"))
          }
        }
      }
    }
  }

  static func noLead(_ error: NoAnswer) -> HTTPResponse {
    .failure(
      503, code: "no-lead", message: "\(error); try again in a moment", hint: "`bobbinctl fleet` shows who leads")
  }

  private func acquireTurn(
    _ peer: PeerCredentials?, _ responder: HTTPResponder, start: @escaping @Sendable (ReplyTurns.Turn) -> Void
  ) {
    (access(peer).isOwner ? ownerTurns : turns).acquire(for: peer?.user ?? Credentials.effectiveUser, responder, start)
  }

  // MARK: Submitting

  private func submit(_ request: HTTPRequest) -> HTTPReply {
    let seconds = request.query("wait").map { Double($0) ?? -1 }
    if let seconds, !(0...86_400).contains(seconds) {
      return .now(.failure(400, code: "bad-request", message: "wait is a number of seconds, at most 86400"))
    }
    let wait = seconds.map { Duration.seconds($0) }
    switch daemon.intake.refusal {
    case .stopping: return .now(.failure(503, code: "draining", message: "the daemon is stopping; try again later"))
    case .storageFull:
      return .now(.failure(503, code: "storage-full", message: "the disk of the store is full; try again later"))
    case .storeBusy: return .now(Self.storeBusy)
    default: break
    }
    if daemon.scheduler.isFull {
      return .now(
        .failure(503, code: "busy", message: "too many jobs are unfinished; try again later"))
    }
    let limit = daemon.configuration.value.spool.maxJobFileSize
    if request.body.count > limit {
      return .now(
        .failure(
          413, code: "body-too-large", message: "a job file may have \(limit) bytes",
          hint: "set [Spool] MaxJobFileSize, or split the file"))
    }
    let submission = Submission(body: request.body, peer: request.peer, wait: wait)
    // The reply has its own deadline; the wait ends before it.
    return .later(within: (wait ?? .zero) + .seconds(60)) { responder in
      guard wait != nil else { return self.queues.async { self.accept(submission, nil, responder: responder) } }
      guard let place = self.enterWaits(request.peer, responder) else { return }
      self.queues.async { self.accept(submission, place, responder: responder) }
    }
  }

  /// A client's submission, and how long it wants to wait for it.
  private struct Submission: Sendable {
    let body: Data
    let peer: PeerCredentials?
    let wait: Duration?

    var user: UInt32 { peer?.user ?? Credentials.effectiveUser }
  }

  /// Counts a client that is to wait, or refuses it if too many are waiting.
  private func enterWaits(_ peer: PeerCredentials?, _ responder: HTTPResponder) -> WaitingClients.Place? {
    let limits = daemon.configuration.value.status
    let (user, isOwner) = (peer?.user ?? Credentials.effectiveUser, access(peer).isOwner)
    if let place = waits.enter(user, isOwner: isOwner, of: (limits.maxConnections, limits.maxConnectionsPerUser)) {
      return place
    }
    _ = responder.respond(
      .failure(
        503, code: "busy", message: "too many clients are already waiting for jobs",
        hint: "submit without waiting, or raise [Status] MaxConnectionsPerUser or MaxConnections"))
    return nil
  }

  private static let storeBusy = HTTPResponse.failure(
    503, code: "store-busy", message: "another program keeps the store locked; try again later",
    hint: "end the transaction of that program, such as sqlite3")

  private func accept(_ submission: Submission, _ place: WaitingClients.Place?, responder: HTTPResponder) {
    do {
      let files = try daemon.accept(submission.body, submitter: submission.user)
      let peer = submission.peer
      guard let wait = submission.wait else { return answer(files, peer, responder: responder, status: 202) }
      let waiting = SubmissionWait(files.flatMap(\.objectIDs), daemon) { [self] isOver in
        // Before the client has its reply, and may come back.
        place?.leave()
        answer(files, peer, responder: responder, status: isOver ? 200 : 202)
      }
      waiting.begin(limit: wait)
      responder.whenOver {
        waiting.abandon()
        place?.leave()
      }
    } catch let error as JobFileError {
      _ = responder.respond(.failure(400, code: "invalid-job", message: error.description))
    } catch let error as AdmissionRefusal {
      _ = responder.respond(.failure(409, code: "id-taken", message: error.reason))
    } catch let error as StoreError where error.code == .busy {
      _ = responder.respond(Self.storeBusy)
    } catch let error as StoreError where error.code == .full {
      _ = responder.respond(.failure(503, code: "storage-full", message: "the store can't be written: \(error)"))
    } catch let error as SystemError where error.code == .diskFull || error.code == .quotaExceeded {
      _ = responder.respond(.failure(503, code: "storage-full", message: "the spool can't be written: \(error)"))
    } catch {
      daemon.engine.report(error, "a submitted job can't be accepted")
      _ = responder.respond(.failure(500, code: "spool", message: "the job can't be written to the spool: \(error)"))
    }
  }

  /// Shows submitted jobs, in the order of their file.
  private func answer(_ files: [AdmittedFile], _ peer: PeerCredentials?, responder: HTTPResponder, status: Int) {
    acquireTurn(peer, responder) { [daemon] turn in
      ManagedObjectContext(parent: daemon.main, name: "submission").perform { context in
        do {
          var body = try Self.list(files.flatMap(\.objectIDs), context, daemon: daemon) { id, reply in
            reply.repeated = files.contains { $0.repeated.contains(id) }
            reply.unknownAfter = files.lazy.compactMap { $0.unknown[id] }.first
          }
          body.append(UInt8(ascii: "}"))
          turn.respond(.json(data: body, status: status))
        } catch {
          turn.respond(.failure(500, code: "store", message: "the store can't be read: \(error)"))
        }
      }
    }
  }

  /// The beginning of an object with jobs, `{"jobs":[...]`; read a few hundred at a time, since there may be very many.
  ///
  /// - Parameters:
  ///   - states: the states of jobs that only the lead of a fleet knows.
  ///   - add: completes what is said of a job.
  private static func list(
    _ ids: [ManagedObjectID], _ context: isolated ManagedObjectContext, daemon: Daemon,
    states: [ManagedObjectID: JobState] = [:], add: (ManagedObjectID, inout JobReply) -> Void = { _, _ in }
  ) throws -> Data {
    var body = Data("{\"jobs\":[".utf8)
    for start in stride(from: 0, to: ids.count, by: 500) {
      let part = ids[start..<min(start + 500, ids.count)]
      let list = try Self.jobs(part, context, daemon: daemon, states: states, add: add)
      if body.last != UInt8(ascii: "[") && !list.isEmpty { body.append(UInt8(ascii: ",")) }
      body.append(contentsOf: list)
      context.reset()
    }
    body.append(UInt8(ascii: "]"))
    return body
  }

  /// Jobs as JSON, with commas between them.
  private static func jobs(
    _ ids: ArraySlice<ManagedObjectID>, _ context: isolated ManagedObjectContext, daemon: Daemon,
    states: [ManagedObjectID: JobState], add: (ManagedObjectID, inout JobReply) -> Void
  ) throws -> [UInt8] {
    // Most are released, so one look at the schedule is enough for all.
    let unreleased = daemon.scheduler.read { schedule, _ in Set(ids.filter(schedule.contains)) }
    var jobs: [ManagedObjectID: [UInt8]] = [:]
    let found = try context.fetch(FetchRequest<Job>(objectIDs: ids))
    let places = try daemon.engine.unfinished.places(of: found.filter { !$0.currentState.isFinal }.map(\.objectID))
    for job in found {
      var live = unreleased.contains(job.objectID) ? daemon.live(job, place: places[job.objectID]) : nil
      if live == nil, let place = places[job.objectID] { live = LiveView(place) }
      if live == nil, let state = states[job.objectID] { live = LiveView(state: state) }
      var reply = JobReply(job, live: live, withArguments: false)
      add(job.objectID, &reply)
      jobs[job.objectID] = reply.json.serializedBytes()
    }
    return Array(ids.compactMap { jobs[$0] }.joined(separator: [UInt8(ascii: ",")]))
  }

  static func json(_ value: JSONValue, status: Int = 200) -> HTTPResponse {
    .json(data: Data(value.serializedBytes()), status: status)
  }
}
