import SystemSupport

/// What a job must come to, whatever happens to the daemon.
struct ExpectedJob: Sendable {
  let id: String
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
  /// Seconds since 1970 before which it must not begin.
  var notBefore: Double?
}

/// A job file and what its jobs must come to.
struct ExpectedFile: Sendable {
  let name: FileName
  let text: String
  let jobs: [ExpectedJob]
}
