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
  /// Queues for those whose files are copied first, so that large ones keep nobody else waiting.
  private let copies = WorkQueues(label: "copies", count: 4)
  /// Queues for looks at paths, which wait for file systems that may not answer.
  let pathQueues = WorkQueues(label: "paths", count: 2)
  /// The queue of the ends of times for counting.
  private let alarms = DispatchQueue(label: "time limits of counts")
  /// A queue for figures, some of which file systems are asked for, and for what is made once.
  let figureQueues = WorkQueues(label: "figures", count: 1)
  /// Asks each server for the number of its connections.
  private let connectionCounts = Mutex<[@Sendable () -> Int]>([])

  /// The description of all requests; nil until somebody asks for it.
  let documentReply = Mutex<HTTPResponse?>(nil)
  private let waits = WaitingClients()
  let objectReads = ObjectReads()
  /// Turns for reading the store; the owner has turns of its own, which nobody else uses.
  private let turns = ClientTurns(total: 8, perUser: 2)
  private let ownerTurns = ClientTurns(total: 8, perUser: 8)
  /// Turns for exports, which last as long as their clients read.
  private let exportTurns = ClientTurns(total: 8, perUser: 4)
  /// Turns for copies, which last as long as the disks take.
  private let copyTurns = ClientTurns(total: 4, perUser: 2)
  private let memberGroup: (@Sendable () -> UInt32?)?
  let gate: AccessGate
  private let changeLog: ChangeLog
  let feed: EventFeed

  /// - Parameter gate: lets clients of TCP in.
  package convenience init(_ daemon: Daemon, gate: AccessGate = AccessGate()) {
    self.init(daemon, gate: gate, memberGroup: nil)
  }

  /// - Parameter memberGroup: finds the group of those who may submit jobs and change their own ones; nil for `bobbin`.
  init(_ daemon: Daemon, gate: AccessGate = AccessGate(), memberGroup: (@Sendable () -> UInt32?)?) {
    self.daemon = daemon
    self.gate = gate
    self.memberGroup = memberGroup
    changeLog = ChangeLog(daemon.configuration, log: daemon.log)
    feed = EventFeed(daemon)
  }

  /// Makes a server of the status API, which is not started yet.
  ///
  /// Each has connections of its own, so that clients of TCP don't take those of users.
  package func server(on listener: borrowing FileDescriptor) throws -> HTTPServer {
    let settings = daemon.configuration.value.status
    var limits = HTTPServerLimits()
    limits.connections = settings.maxConnections
    limits.reservedConnections = 8
    limits.connectionsPerUser = settings.maxConnectionsPerUser
    limits.connectionsPerStranger = max(1, settings.maxConnectionsPerUser / 4)
    limits.strangerConnections = max(1, settings.maxConnections / 4)
    limits.waitingRequests = limits.connections + limits.reservedConnections
    // Some are left for those who ask and go.
    limits.streams = max(1, settings.maxConnections * 3 / 4)
    limits.passedFiles = 8 * DescriptorSocket.maximumDescriptorCount
    limits.passedFilesPerUser = limits.passedFiles / 2
    limits.bodyBytes = settings.maxRequestSize
    let router = router()
    let server = try HTTPServer(
      listener: listener, limits: limits, standing: { self.standing($0) },
      placeBody: { self.place(bodyOf: $0, length: $1) },
      handler: { router.reply(to: $0) })
    connectionCounts.withLock { $0.append { [weak server] in server?.connectionCount ?? 0 } }
    return server
  }

  /// The groups by which rights are told now.
  var accessGroups: Access.Groups {
    var groups = Access.Groups()
    if let memberGroup { groups.members = memberGroup }
    groups.controllers = daemon.configuration.value.status.controlGroup
    return groups
  }

  /// The number of open connections.
  var connectionCount: Int { connectionCounts.withLock { $0 }.reduce(0) { $0 + $1() } }

  /// The routes.
  func router() -> Router {
    var router = GuardedRouter(authorize: { self.authorize($0, $1) }, log: changeLog)
    router.on(.get, "/v1/status", needs: .reading, as: .init("How the daemon is", .reply(StatusReply.self))) { _, _ in
      .now(self.status())
    }
    router.on(
      .get, "/v1/folders", needs: .reading,
      as: .init("The hot folders, and what became of their files", .reply(FoldersReply.self))
    ) { _, _ in .now(self.folders()) }
    addJobs(to: &router)
    addAccess(to: &router)
    addFleet(to: &router)
    addSchedules(to: &router)
    addCommands(to: &router)
    addExplanations(to: &router)
    addEntities(to: &router)
    addObjects(to: &router)
    addRejects(to: &router)
    addPaths(to: &router)
    addMetrics(to: &router)
    addEvents(to: &router)
    addWorkflows(to: &router)
    addDescriptions(to: &router)
    Self.addPage(to: &router)
    router.on(
      .get, "/healthz", needs: .nothing,
      as: .init("Whether the daemon does its work", .json(["type": "object", "required": ["status"]]))
    ) { request, _ in .now(self.health(isBrief: request.client.address != nil)) }
    addDocument(to: &router)
    return router.router
  }

  // MARK: Status and health

  private func status() -> HTTPResponse { Self.json(daemon.statusReply().json) }

  private func folders() -> HTTPResponse { Self.json(FoldersReply(folders: daemon.hotFolders.overview).json) }

  /// - Parameter isBrief: true for clients whom nobody knows, whom paths and the like are none of the business.
  private func health(isBrief: Bool) -> HTTPResponse {
    if let problem = daemon.problem {
      return .failure(503, code: "failing", message: isBrief ? "the daemon is not healthy" : problem)
    }
    return Self.json(.object(["status": "ok"]))
  }

  // MARK: Jobs

  static func noJob(_ id: String) -> HTTPResponse {
    .failure(
      404, code: "not-found", message: "there is no job \"\(displayName(id))\"",
      hint: "`bobbinctl list` shows the jobs")
  }

  static func ambiguous(_ error: JobHandle.Ambiguous) -> HTTPResponse {
    .failure(
      409, code: "ambiguous", message: "\"\(displayName(error.handle))\" may be one of \(error.list)",
      hint: "give more of the ID")
  }

  /// The time for counting jobs for one reply.
  static let countTime = Duration.seconds(1)

  /// Answers from a context of its own, on another thread than the server's.
  ///
  /// - Parameters:
  ///   - limit: the time after which the body's task is cancelled, as it is when the client has left; nil for none.
  ///   - body: makes the answer, also from what it has when its task is cancelled.
  func read(
    _ request: HTTPRequest, within limit: Duration? = nil,
    _ body: @escaping @Sendable (isolated ManagedObjectContext, Daemon) throws -> HTTPResponse
  ) -> HTTPReply {
    if let databaseRefusal { return .now(databaseRefusal) }
    return .later { responder in
      self.acquireTurn(request.client, responder) { turn in
        self.cancellable(for: responder, within: limit) { context in
          do {
            turn.respond(try body(context, self.daemon))
          } catch let error as NoAnswer {
            turn.respond(self.noLead(error))
          } catch let error as StoreError where error.code == .unavailable {
            turn.respond(Self.databaseAway("\(error)"))
          } catch let error as JobHandle.Ambiguous {
            turn.respond(Self.ambiguous(error))
          } catch {
            self.daemon.engine.report(error, "a status request can't be answered")
            turn.respond(.failure(500, code: "store", message: "the store can't be read: \(error)"))
          }
        }
      }
    }
  }

  /// Calls a body on a context of its own, in a task that is cancelled after a time, or when the client has left.
  private func cancellable(
    for responder: HTTPResponder, within limit: Duration?,
    _ body: @escaping @Sendable (isolated ManagedObjectContext) -> Void
  ) {
    let timer = OneShotTimer(queue: alarms)
    let context = ManagedObjectContext(parent: daemon.main, name: "status")
    let task = Task(executorPreference: WorkQueues.tasks, priority: .medium) {
      await context.perform(body)
      timer.cancel()
    }
    if let limit { timer.arm(after: limit) { task.cancel() } }
    responder.whenOver { task.cancel() }
  }

  func noLead(_ error: NoAnswer) -> HTTPResponse {
    databaseRefusal
      ?? .failure(
        503, code: "no-lead", message: "\(error); try again in a moment", hint: "`bobbinctl fleet` shows who leads")
  }

  func acquireTurn(
    _ client: HTTPClient, _ responder: HTTPResponder, start: @escaping @Sendable (ClientTurns.Turn) -> Void
  ) {
    (isOwner(client) ? ownerTurns : turns).acquire(for: client.account, responder, start)
  }

  func acquireExportTurn(
    _ client: HTTPClient, _ responder: HTTPResponder, start: @escaping @Sendable (ClientTurns.Turn) -> Void
  ) {
    exportTurns.acquire(for: client.account, responder, start)
  }

  // MARK: Submitting

  func submit(_ request: HTTPRequest) -> HTTPReply {
    let terms: SubmissionTerms
    let kind = request.sink is SpooledFile ? .lines : request.sink == nil ? SubmissionTerms.Body.document : .form
    do throws(SubmissionTerms.Refusal) { terms = try SubmissionTerms(request, of: kind) } catch {
      return .now(error.response)
    }
    if let refusal = intakeRefusal { return .now(refusal) }
    let open = OpenInputs(request)
    if open?.areDropped == true {
      return .now(
        .failure(
          503, code: "busy", message: "too many files that other submissions have passed are still open",
          hint: "submit again in a moment, or send the inputs in a form"))
    }
    let limit = daemon.configuration.value.spool.maxJobFileSize
    if request.body.count > limit {
      return .now(
        .failure(
          413, code: "body-too-large", message: "a job file may have \(limit) bytes",
          hint: "set [Spool] MaxJobFileSize, or send a job on each line as application/x-ndjson, a file *.ndjson"))
    }
    let submission = Submission(
      body: request.body, lines: request.sink as? SpooledFile, form: request.sink as? UploadedForm,
      open: open, client: request.client, terms: terms)
    // The reply has its own deadline; the wait ends before it.
    return .later(
      within: (terms.wait ?? .zero) + (request.sink == nil && open == nil ? .seconds(60) : Self.linesTimeout)
    ) {
      responder in
      guard terms.wait != nil else { return self.begin(submission, nil, responder: responder) }
      guard let place = self.enterWaits(request.client, responder) else { return }
      self.begin(submission, place, responder: responder)
    }
  }

  /// Counts a client that is to wait, or refuses it if too many are waiting.
  private func enterWaits(_ client: HTTPClient, _ responder: HTTPResponder) -> WaitingClients.Place? {
    let limits = daemon.configuration.value.status
    let place = waits.enter(
      client.account, isOwner: isOwner(client), of: (limits.maxConnections, limits.maxConnectionsPerUser))
    if let place { return place }
    _ = responder.respond(
      .failure(
        503, code: "busy", message: "too many clients are already waiting for jobs",
        hint: "submit without waiting, or raise [Status] MaxConnectionsPerUser or MaxConnections"))
    return nil
  }

  /// Has a submission accepted on another thread, after those before it whose files are copied, if it has such files.
  private func begin(_ submission: Submission, _ place: WaitingClients.Place?, responder: HTTPResponder) {
    guard submission.needsCopy else {
      return queues.async { self.accept(submission, place, responder: responder) }
    }
    copyTurns.acquire(for: submission.client.account, responder) { turn in
      // There are as many queues as turns.
      self.copies.async { withExtendedLifetime(turn) { self.accept(submission, place, responder: responder) } }
    }
  }

  private func accept(_ submission: Submission, _ place: WaitingClients.Place?, responder: HTTPResponder) {
    do {
      if let lines = submission.lines { return try accept(lines, of: submission, at: place, responder: responder) }
      let form = try submission.form?.finish()
      let inputs = try submission.open?.receive(into: daemon.uploads, for: submission.user) ?? form?.inputs
      let document = form?.document ?? submission.body
      let key = submission.terms.key.map {
        SubmissionKey(
          $0, of: submission.user, body: document, inputs: inputs.map { Array($0.files.values) } ?? [],
          directory: submission.terms.directory)
      }
      let files = try daemon.accept(
        document, with: inputs, submitter: submission.user, directory: submission.terms.directory,
        trace: submission.terms.trace, key: key, tag: submission.terms.tag)
      wait(
        for: files.flatMap(\.objectIDs), in: files, namesKnown: files.contains(where: \.namesKnown), of: submission,
        at: place, responder: responder
      ) { [self] status in
        answer(files, submission.client, responder: responder, status: status)
      }
    } catch {
      _ = responder.respond(response(to: error))
    }
  }

  /// Shows submitted jobs, in the order of their file.
  private func answer(_ files: [AdmittedFile], _ client: HTTPClient, responder: HTTPResponder, status: Int) {
    acquireTurn(client, responder) { [self] turn in
      ManagedObjectContext(parent: daemon.main, name: "submission").perform { [self] context in
        do {
          var body = try Self.list(files.flatMap(\.objectIDs), context, daemon: daemon) { id, reply in
            reply.repeated = files.contains { $0.repeated.contains(id) }
            if let file = files.first(where: { $0.replaced.contains(id) }) {
              reply.replaced = true
              // Until it is replaced its record tells of the run before.
              if file.replacing?.end.isSet == false { reply.forgetRun() }
            }
            reply.unknownAfter = files.lazy.compactMap { $0.unknown[id] }.first
          }
          body.append(contentsOf: submissionEnd.utf8)
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
  ///   - states: what the lead of a fleet has told of some of them.
  ///   - add: completes what is said of a job.
  static func list(
    _ ids: [ManagedObjectID], _ context: isolated ManagedObjectContext, daemon: Daemon,
    states: [ManagedObjectID: JobState] = [:], add: (ManagedObjectID, inout JobReply) -> Void = { _, _ in }
  ) throws -> Data {
    var body = Data("{\"jobs\":[".utf8)
    var look = LiveLook(daemon, told: states)
    for start in stride(from: 0, to: ids.count, by: 500) {
      let part = ids[start..<min(start + 500, ids.count)]
      let list = try Self.jobs(part, context, with: &look, add: add)
      if body.last != UInt8(ascii: "[") && !list.isEmpty { body.append(UInt8(ascii: ",")) }
      body.append(contentsOf: list)
      context.reset()
    }
    body.append(UInt8(ascii: "]"))
    return body
  }

  /// Jobs as JSON, with commas between them.
  private static func jobs(
    _ ids: ArraySlice<ManagedObjectID>, _ context: isolated ManagedObjectContext, with look: inout LiveLook,
    add: (ManagedObjectID, inout JobReply) -> Void
  ) throws -> [UInt8] {
    var jobs: [ManagedObjectID: [UInt8]] = [:]
    let found = try context.fetch(FetchRequest<Job>(objectIDs: ids))
    let live = try look.views(of: found)
    for job in found {
      var reply = JobReply(job, live: live[job.objectID], withArguments: false)
      add(job.objectID, &reply)
      jobs[job.objectID] = reply.json.serializedBytes()
    }
    return Array(ids.compactMap { jobs[$0] }.joined(separator: [UInt8(ascii: ",")]))
  }

  static func json(_ value: JSONValue, status: Int = 200) -> HTTPResponse {
    .json(data: Data(value.serializedBytes()), status: status)
  }
}
