import SystemSupport

/// What a job must come to, whatever happens to the daemon.
struct ExpectedJob: Sendable {
  /// Its ID, or what its file's name begins with, if the file gives none.
  let id: String
  /// Whether the file gives the ID, so that sending it again makes no other job.
  var isNamed = true
  /// How many jobs it may have become: one more for each time that it was sent again without an ID.
  var copies = 1
  /// The states in which it may end.
  var outcomes: Set<String> = ["completed"]
  /// How many rows it leaves, if it is completed; none otherwise.
  var rows = 0
  /// How many rows a quarantined job keeps for its redrive: what its checkpoint has saved.
  var checkpointRows = 0
  /// The files in `payload/` that it leaves, if it is completed.
  var pictures: [String] = []
  /// Whether the first picture is kept in the store, too.
  var isKept = false
  /// Jobs that must be over before it begins.
  var after: [String] = []
  /// Those among them that must be completed, or else it is cancelled.
  var needs: [String] = []
  /// Seconds since 1970 before which it must not begin.
  var notBefore: Double?
  var queue = "default"
  /// The priority that it must have, or one of several if nobody knows.
  var priorities: Set<Int> = [0]

  /// Whether running it again would leave its effects a second time, if it was completed before.
  var isAdditive: Bool { outcomes.contains("completed") && (rows > 0 || isKept) }
}

/// A job file and what its jobs must come to.
struct ExpectedFile: Sendable {
  let name: FileName
  let text: String
  let jobs: [ExpectedJob]
}
