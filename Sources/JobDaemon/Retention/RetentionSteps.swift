import Configuration
import Foundation
import Jobs
import ObjectGraph

/// Removes jobs that are over, a few at a time.
struct RetentionSteps: Sendable {
  /// Jobs removed in one step: main and the writer are occupied for some milliseconds.
  static let jobCount = 500
  /// Bytes given back to the file system in one step.
  private static let byteCount = 1 << 20

  let main: ManagedObjectContext
  let coordinator: PersistentStoreCoordinator

  /// How many jobs of a state there are.
  func count(_ state: JobState) async throws -> Int {
    try await context().perform { try $0.count(for: FetchRequest<Job>(Self.isIn(state))) }
  }

  /// Removes the oldest jobs of a state.
  ///
  /// - Parameters:
  ///   - date: only jobs that ended before it.
  ///   - limit: how many at most.
  /// - Returns: how many.
  func remove(_ state: JobState, endedBefore date: Date, limit: Int) async throws -> Int {
    try await context().perform { context in
      var request = FetchRequest<Job>(
        .and([Self.isIn(state), .compare(.keyPath(["finishedAt"]), .less, .value(.date(date)), [])]))
      request.sortDescriptors = [.ascending("finishedAt")]
      request.fetchLimit = min(limit, Self.jobCount)
      let jobs = try context.fetch(request)
      for job in jobs { context.delete(job) }
      try context.save()
      return jobs.count
    }
  }

  /// When the oldest job of a state ended; nil if there is none.
  func oldestEnd(_ state: JobState) async throws -> Date? {
    try await context().perform { context in
      var request = FetchRequest<Job>(Self.isIn(state), limit: 1)
      request.sortDescriptors = [.ascending("finishedAt")]
      return try context.fetch(request).first?.finishedAt
    }
  }

  /// Gives space back to the file system; false if there is no more.
  func reclaim() async throws -> Bool {
    try await context().perform { [coordinator] _ in try coordinator.reclaimSpace(atMost: Self.byteCount) > 0 }
  }

  /// How much of the store is in use, in bytes: what was removed and not given back yet does not count.
  func storeSize() throws -> Int { try coordinator.bytesInUse() }

  private func context() -> ManagedObjectContext { ManagedObjectContext(parent: main, name: "retention") }

  private static func isIn(_ state: JobState) -> Condition {
    .compare(.keyPath(["state"]), .equal, .value(.string(state.rawValue)), [])
  }
}
