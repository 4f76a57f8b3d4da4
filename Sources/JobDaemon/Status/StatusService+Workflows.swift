import Foundation
import HTTPService
import JSONText
import JobSchedule
import Jobs
import ObjectGraph
import StatusReplies

/// Requests about jobs that belong together: batches, and jobs that wait for each other.
extension StatusService {
  func addWorkflows(to router: inout GuardedRouter) {
    router.on(
      .get, "/v1/batches", needs: .reading, as: .init("The newest batches, with their jobs", .reply(BatchesReply.self))
    ) { request, _ in self.batches(request) }
    router.on(
      .get, "/v1/jobs/:id/relatives", needs: .reading,
      as: .init("What a job waits for, and what waits for it", .reply(RelativesReply.self), refusals: [404, 409])
    ) { request, parameters in self.relatives(parameters["id"], request) }
  }

  // MARK: Batches

  /// The most batches that are listed, and the jobs among which they are looked for.
  private static let batchLimit = 50
  private static let batchReach = 5_000

  private func batches(_ request: HTTPRequest) -> HTTPReply {
    read(request, within: Self.countTime) { context, daemon in
      let (newest, isComplete) = try Self.newestInBatches(context)
      var seen: Set<String> = []
      var batches: [BatchesReply.Batch] = []
      for job in newest {
        guard let name = job.batch, seen.insert(name).inserted else { continue }
        let counts = try JobSelection(batch: name).counts(context, daemon.engine.unfinished)
        batches.append(
          BatchesReply.Batch(
            name: name, lastAcceptedAt: job.createdAt.map { Timestamp($0) }, jobs: counts.byName,
            atLeast: counts.isAtLeast))
        if batches.count == Self.batchLimit { break }
      }
      return Self.json(BatchesReply(batches: batches, mayHaveMore: !isComplete).json)
    }
  }

  /// The newest jobs that have a batch; where a second is not enough to find them, those among the newest of all.
  private static func newestInBatches(
    _ context: isolated ManagedObjectContext
  ) throws -> (jobs: [Job], isComplete: Bool) {
    let newest = FetchRequest<Job>(sortBy: [.descending(\.createdAt)], limit: batchReach)
    var inBatches = newest
    inBatches.condition = try Condition(format: "batch != nil")
    do {
      let found = try context.fetchIDsUnlessCancelled(inBatches)
      let jobs = try context.fetch(FetchRequest<Job>(objectIDs: found))
      return (jobs.sorted { ($0.createdAt ?? .distantPast) > ($1.createdAt ?? .distantPast) }, true)
    } catch is CancellationError {
      return (try context.fetch(newest).filter { $0.batch != nil }, false)
    }
  }

  // MARK: Relatives

  /// The most jobs of each kind that are told.
  private static let relativeLimit = 100

  private func relatives(_ id: String, _ request: HTTPRequest) -> HTTPReply {
    read(request, within: Self.countTime) { context, daemon in
      guard let job = try JobHandle(text: id).job(in: context) else { return Self.noJob(id) }
      let options = job.options.map { JSONValue(stored: $0) }?.object
      let allNames = ["after", "afterAny"].flatMap { options?[$0]?.array ?? options?[$0].map { [$0] } ?? [] }
        .compactMap(\.string)
      let names = allNames.prefix(Self.relativeLimit)
      let known = try context.fetch(FetchRequest<Job>(format: "id IN %@", Array(names)))
      let records = Dictionary(known.map { ($0.id, $0) }) { first, _ in first }
      let (dependents, isComplete) = try Self.dependents(on: job, context, daemon)
      var look = LiveLook(daemon)
      let live = try look.views(of: Array(records.values) + dependents)
      let after = names.map { name in
        records[name].map { Self.relative($0, live) } ?? RelativesReply.Relative(id: name)
      }
      let before = dependents.map { Self.relative($0, live) }
      let mayHaveMore = !isComplete || names.count < allNames.count
      return Self.json(RelativesReply(id: job.id, after: after, before: before, mayHaveMore: mayHaveMore).json)
    }
  }

  private static func relative(_ job: Job, _ live: [ManagedObjectID: LiveView]) -> RelativesReply.Relative {
    let state = live[job.objectID]?.state ?? job.currentState
    return RelativesReply.Relative(id: job.id, type: job.type, state: .init(rawValue: state.rawValue))
  }

  /// The unfinished jobs that name a job, and those of its batch that did.
  ///
  /// Those of a large batch may take too long to be found. Others that are over are not looked for: no index leads to them.
  private static func dependents(
    on job: Job, _ context: isolated ManagedObjectContext, _ daemon: Daemon
  ) throws -> (jobs: [Job], isComplete: Bool) {
    let waiting = daemon.scheduler.read { schedule, _ in schedule.dependencies.dependents(on: job.objectID) }
    var isComplete = waiting.count <= relativeLimit
    var found = try context.fetch(FetchRequest<Job>(objectIDs: Array(waiting.prefix(relativeLimit))))
    if let batch = job.batch {
      // As it stands in the text of the options.
      let named = JSONValue.string(job.id).serialized()
      let seen = Set(found.map(\.id)).union([job.id])
      let others = FetchRequest<Job>(
        try Condition(format: "batch == %@ AND options CONTAINS %@", batch, named), limit: relativeLimit)
      do {
        let ids = try context.fetchIDsUnlessCancelled(others)
        found += try context.fetch(FetchRequest<Job>(objectIDs: ids)).filter { !seen.contains($0.id) }
        if ids.count == relativeLimit { isComplete = false }
      } catch is CancellationError {
        isComplete = false
      }
    }
    let told = found.sorted { $0.id < $1.id }.prefix(relativeLimit)
    return (Array(told), isComplete && told.count == found.count)
  }
}
