import Configuration
import Foundation
import Jobs
import ObjectGraph

/// Removes final jobs, a few at a time.
struct RetentionSteps: Sendable {
  /// Jobs removed in one step, which occupies main and the writer for some milliseconds.
  static let jobCount = 500
  /// Bytes returned to the file system in one step.
  private static let byteCount = 1 << 20

  let main: ManagedObjectContext
  let coordinator: PersistentStoreCoordinator
  let scheduler: Scheduler

  /// The number of jobs in a state.
  func count(_ state: JobState) async throws -> Int {
    try await context().perform { try $0.count(for: FetchRequest<Job>(Self.isIn(state))) }
  }

  /// Removes the oldest jobs of a state, except those that unfinished jobs name: after a restart these could not be
  /// told from jobs yet to come.
  ///
  /// - Parameters:
  ///   - date: only jobs that ended before it.
  ///   - limit: how many at most.
  /// - Returns: how many.
  func remove(_ state: JobState, endedBefore date: Date, limit: Int) async throws -> Int {
    try await context().perform { context in
      let condition = Condition.and([
        Self.isIn(state), .compare(.keyPath(["finishedAt"]), .less, .value(.date(date)), []),
      ])
      let ids = try oldest(condition, limit: min(limit, Self.jobCount), context)
      let jobs = try context.fetch(FetchRequest<Job>(.isIn(.evaluatedObject, ids.map(Operand.object), [])))
      for job in jobs { context.delete(job) }
      try context.save()
      return jobs.count
    }
  }

  /// The end of a state's oldest job that may be removed; nil if there is none.
  func oldestEnd(_ state: JobState) async throws -> Date? {
    try await context().perform { context in
      try oldest(Self.isIn(state), limit: 1, context).first.flatMap { try context.job(with: $0).finishedAt }
    }
  }

  /// The jobs that ended first, without those that unfinished jobs name.
  private func oldest(
    _ condition: Condition, limit: Int, _ context: isolated ManagedObjectContext
  ) throws -> [ManagedObjectID] {
    let needed = scheduler.read { schedule, _ in Set(schedule.dependencies.needed) }
    var request = FetchRequest<Job>(condition, limit: limit + needed.count)
    request.sortDescriptors = [.ascending("finishedAt")]
    return Array(try context.fetchIDs(request).lazy.filter { !needed.contains($0) }.prefix(limit))
  }

  /// Returns free space to the file system; false if there is no more.
  func reclaim() async throws -> Bool {
    try await context().perform { [coordinator] _ in try coordinator.reclaimSpace(atMost: Self.byteCount) > 0 }
  }

  /// The bytes of the store in use, without space that was freed but not returned yet.
  func storeSize() throws -> Int { try coordinator.bytesInUse() }

  private func context() -> ManagedObjectContext { ManagedObjectContext(parent: main, name: "retention") }

  private static func isIn(_ state: JobState) -> Condition {
    .compare(.keyPath(["state"]), .equal, .value(.string(state.rawValue)), [])
  }
}
