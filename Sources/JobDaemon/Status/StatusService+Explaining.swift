import Foundation
import HTTPService
import JSONText
import JobSchedule
import Jobs
import SystemSupport
import ObjectGraph
import StatusReplies
import TextSupport

/// Requests that explain jobs and queues.
extension StatusService {
  func addExplanations(to router: inout GuardedRouter) {
    router.on(
      .get, "/v1/jobs/:id/why", needs: .reading,
      as: .init("What keeps a job from running", .reply(WhyReply.self), refusals: [404, 409])
    ) { request, parameters in self.why(parameters["id"], request) }
    router.on(
      .get, "/v1/jobs/:id/attempts", needs: .reading,
      as: .init("How attempts failed, and what they wrote", .reply(AttemptsReply.self), refusals: [404, 409])
    ) { request, parameters in self.attempts(parameters["id"], request) }
    router.on(
      .get, "/v1/queues", needs: .reading,
      as: .init("Queues and types, with their jobs and limits", .reply(QueuesReply.self))
    ) { request, _ in self.queues(request) }
  }

  private func why(_ id: String, _ request: HTTPRequest) -> HTTPReply {
    read(request) { context, daemon in
      guard let job = try JobHandle(text: id).job(in: context) else { return Self.noJob(id) }
      let unfinished = daemon.engine.unfinished
      let (known, obstacles) = job.currentState.isFinal ? (nil, []) : try unfinished.explain(job.objectID)
      let place = known == .running ? try unfinished.places(of: [job.objectID])[job.objectID] : nil
      let live = daemon.live(job, place: place)
      let state = live?.state ?? known ?? job.currentState
      let failure = live?.failure ?? job.failure
      var reasons = try obstacles.map {
        try Self.words($0, of: job, failure: failure, daemon: daemon, context: context)
      }
      if let place { reasons.append("it runs at \(place.root)") }
      if let ending = live?.ending { reasons.append("it runs, and was told to end: \(ending)") }
      if reasons.isEmpty, state == .running { reasons.append("it runs") }
      if state == .running {
        if let failure { reasons.append("its attempt before failed: \(failure)") }
      } else if reasons.isEmpty || state == .held, let failure {
        reasons.append(failure)
      }
      return Self.json(WhyReply(id: job.id, state: .init(rawValue: state.rawValue), reasons: reasons).json)
    }
  }

  /// - Parameter failure: the failure of its last attempt, if it failed.
  private static func words(
    _ obstacle: Schedule.Obstacle, of job: Job, failure: String?, daemon: Daemon,
    context: isolated ManagedObjectContext
  ) throws -> String {
    switch obstacle {
    case .held where daemon.scheduler.read({ schedule, _ in schedule.awaitingHandler.contains(job.objectID) }):
      "declare its type in handlers.d and have the daemon reload its configuration, or cancel it: `bobbinctl cancel "
        + "\(displayName(job.id))`"
    case .held where job.pendingStop == .cancelled || job.pendingStop == .gaveUp:
      "it was told to end\(job.stopReason.map { " (\($0))" } ?? ""), and does so once what its last attempt may have saved is "
        + "undone" + (daemon.membership == nil ? "" : ", by a host that has its type")
    case .held: "it is held; `bobbinctl release \(displayName(job.id))` resumes it"
    case .notBefore(let time):
      "it is not to run before \(Timestamp(Date(timeIntervalSince1970: Double(time) / 1000)).text), in "
        + span(max(0, time - Moment.now().wall))
    case .backoff(let time):
      "its last attempt failed, and the next one is in \(span(time))" + (failure.map { ": \($0)" } ?? "")
    case .job(let id): "it waits for the job \"\(try context.job(with: id).id)\", which is not completed"
    case .unknownJob(let name): "it waits for the job \"\(name)\", which nobody has submitted yet"
    case .batch(let name, let count):
      "it waits for the batch \"\(name)\", which has \(counted(count, "unfinished job"))"
    case .paused(let name): "\(name) is paused; `\(name.resumeCommand)` ends the pause"
    case .concurrency(let name, let limit): "\(name) has reached its limit of \(limit) running jobs"
    case .rate(let name, let time): "\(name) lets the next job start in \(span(time))"
    case .place(.type(let type)):
      "a fault of this host holds the type \"\(type)\", which goes on by itself once that is mended"
        + (daemon.engine.hostFaults.reason(of: type).map { ": \($0)" } ?? "")
    case .place(.file(let file)):
      "its file \(file) is still being admitted; the jobs of the file start when all of them are on disk"
    case .place(let name): try words(place: name, of: job.objectID, daemon: daemon)
    case .queue(let count):
      count == 0 ? "it is the next to run" : "\(counted(count, "job")) will run before it"
    }
  }

  /// The reason why no host takes a job: in a fleet the lead knows that none does, and the ledger why.
  private static func words(place: Resource.Name, of id: ManagedObjectID, daemon: Daemon) throws -> String {
    guard let membership = daemon.membership else {
      return "this host does not offer \(place); [Fleet] Places= names those that it offers"
    }
    guard let (type, place, hosts) = try membership.reader().need(of: id) else { return "no host can run it" }
    return HostNeed(type: type, place: place, hosts: hosts).reason
  }

  private static func span(_ milliseconds: Int64) -> String {
    TimeSpan.words(seconds: Double(milliseconds) / 1000)
  }

  /// The runs of a job that had ended before it was replaced.
  static func earlierRuns(
    of job: Job, in context: isolated ManagedObjectContext
  ) throws -> [JobReply.EarlierRun] {
    // Only their last attempts keep arguments.
    let isEnd = try Condition(format: "arguments != nil")
    let isJobs = try Condition(\Attempt.job, leadsTo: job.objectID)
    return try context.fetch(FetchRequest<Attempt>(.and([isJobs, isEnd]), sortBy: [.ascending(\.number)])).map { end in
      var run = JobReply.EarlierRun(attempt: Int(end.number), state: .init(rawValue: end.outcome))
      run.startedAt = end.startedAt.map { Timestamp($0) }
      run.finishedAt = end.finishedAt.map { Timestamp($0) }
      run.error = end.failure
      run.result = JSONValue(stored: end.result)
      run.arguments = JSONValue(stored: end.arguments)
      return run
    }
  }

  private func attempts(_ id: String, _ request: HTTPRequest) -> HTTPReply {
    read(request) { context, daemon in
      guard let job = try JobHandle(text: id).job(in: context) else { return Self.noJob(id) }
      let request = FetchRequest<Attempt>(
        try Condition(\Attempt.job, leadsTo: job.objectID), sortBy: [.ascending(\.number)])
      var attempts = try context.fetch(request).map { AttemptsReply.Attempt($0) }
      if let running = daemon.scheduler.running(job.objectID)?.attempt, let log = running.execution.log {
        var attempt = AttemptsReply.Attempt(number: running.number, outcome: JobState.running.rawValue)
        attempt.startedAt = Timestamp(running.started)
        attempt.log = log
        attempts.append(attempt)
      }
      return Self.json(AttemptsReply(id: job.id, attempts: attempts).json)
    }
  }

  private func queues(_ request: HTTPRequest) -> HTTPReply {
    guard let membership = daemon.membership else {
      return .now(Self.json(Self.queues(daemon.scheduler.read { schedule, _ in schedule.resourceViews })))
    }
    return read(request) { _, _ in
      guard case .resources(let views) = try membership.ask(.resources) else { throw NoAnswer() }
      return Self.json(Self.queues(views))
    }
  }

  /// The queues and types that have jobs, limits or a pause.
  private static func queues(_ views: [Schedule.ResourceView]) -> JSONValue {
    var queues: [QueuesReply.Entry] = []
    var types: [QueuesReply.Entry] = []
    var isPaused = false
    for view in views {
      switch view.name {
      case .everything: isPaused = view.isPaused
      case .queue(let name): queues.append(QueuesReply.Entry(name, view))
      case .type(let name): types.append(QueuesReply.Entry(name, view))
      case .key, .place, .host, .schedule, .file: break
      }
    }
    return QueuesReply(
      paused: isPaused, queues: queues.sorted { $0.name < $1.name }, types: types.sorted { $0.name < $1.name }
    ).json
  }
}

extension StatusService {
  /// Adds the requests about what imports have rejected.
  func addRejects(to router: inout GuardedRouter) {
    router.on(
      .get, "/v1/jobs/:id/rejects", needs: .readingObjects,
      as: .init(
        "The records that an import did not take", .reply(RejectsReply.self),
        query: [
          .integer("limit", in: 1...10_000, "At most so many; 1000 without it"),
          .integer("after", in: -1 ... .max, "Only records behind this byte, as `next` of the reply before"),
        ], refusals: [404, 409])
    ) { request, parameters in self.rejects(parameters["id"], request) }
  }

  private func rejects(_ id: String, _ request: HTTPRequest) -> HTTPReply {
    let limit = request.query("limit").map { Int($0) } ?? 1_000
    let after = request.query("after").map { Int64($0) } ?? -1
    guard let limit, (1...10_000).contains(limit), let after, after >= -1 else {
      return .now(.failure(400, code: "bad-request", message: "limit is 1 to 10000, after is a byte offset"))
    }
    return read(request) { context, daemon in
      guard let job = try JobHandle(text: id).job(in: context) else { return Self.noJob(id) }
      let isJobs = try Condition(\ImportReject.job, leadsTo: job.objectID)
      let isLater = try Condition(#Predicate<ImportReject> { $0.byteOffset > after })
      let rejects = try context.fetch(
        FetchRequest<ImportReject>(.and([isJobs, isLater]), sortBy: [.ascending(\.byteOffset)], limit: limit))
      let state = try context.fetch(
        FetchRequest<ImportState>(try Condition(\ImportState.job, leadsTo: job.objectID), limit: 1)
      ).first
      let reply = RejectsReply(
        id: job.id, total: try context.count(for: FetchRequest<ImportReject>(isJobs)), found: Int(state?.rejects ?? 0),
        header: state?.header, rejects: rejects.map { RejectsReply.Reject($0) },
        next: rejects.count == limit ? rejects.last.map { Int($0.byteOffset) } : nil)
      return Self.json(reply.json(input: JSONValue(stored: state?.form)))
    }
  }
}

extension AttemptsReply.Attempt {
  fileprivate init(_ attempt: Jobs.Attempt) {
    self.init(number: Int(attempt.number), outcome: attempt.outcome)
    startedAt = attempt.startedAt.map { Timestamp($0) }
    finishedAt = attempt.finishedAt.map { Timestamp($0) }
    error = attempt.failure
    evidence = JSONValue(stored: attempt.evidence)
    log = attempt.log
  }
}

extension QueuesReply.Entry {
  fileprivate init(_ name: String, _ view: Schedule.ResourceView) {
    var jobs: [String: Int] = [:]
    for state in JobState.allCases where !state.isFinal { jobs[state.rawValue] = view.counts[state] ?? 0 }
    self.init(name: name, paused: view.isPaused, concurrency: view.concurrent, jobs: jobs)
  }
}

extension RejectsReply.Reject {
  fileprivate init(_ reject: ImportReject) {
    self.init(
      line: Int(reject.line), byteOffset: Int(reject.byteOffset), column: reject.column, rule: reject.rule,
      message: reject.message, raw: reject.raw)
  }
}
