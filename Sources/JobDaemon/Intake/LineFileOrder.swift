import JobSchedule

extension LineFileAdmission {
  /// A file to be admitted.
  struct Order: Sendable {
    let file: ClaimedFile
    /// True if it lay in `cur/` already.
    var isTakenUp = false
    /// True if its jobs were admitted before, and all those that were to run for it are final.
    var isOver = false
    /// The file with its jobs that were recovered from the store.
    var live: LiveFile?
    /// The client that has sent it; nil for a dropped file.
    var client: Client?
  }

  /// A client that has sent a file over the socket.
  struct Client: Sendable {
    /// True if it needs all jobs, since it waits for them.
    let needsAll: Bool
    let answer: @Sendable (Result<AdmittedLines, any Error>) -> Void
  }

  /// The daemon stops; a dropped file is gone on with at the next start.
  struct Stopped: Error {
    /// True if a client's file is gone on with, too: some of its jobs may be admitted already.
    var isKept = false
  }
}
