import ObjectGraph

/// Who waits for whom.
struct Dependencies {
  /// A job that waits; the sequence tells it from a later one in the slot.
  struct Waiting {
    let slot: Int
    let sequence: UInt64
    /// Whether it also goes on if what it waits for comes to nothing.
    let mayFail: Bool
  }

  var onJobs: [ManagedObjectID: [Waiting]] = [:]
  /// On jobs that nobody knows yet.
  var onNames: [String: [Waiting]] = [:]
}

/// Jobs that were submitted together, or name the same batch.
struct Batch {
  let name: String
  var unfinished = 0
  var waiting: [Dependencies.Waiting] = []
}
