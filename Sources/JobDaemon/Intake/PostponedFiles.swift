/// The files in `cur/` whose admission is to be tried again, and what was told of the reason.
struct PostponedFiles {
  /// Nil if no attempt is arranged.
  private var files: [AdmissionCandidate]?
  /// The last reasons that were told; empty if nothing is wrong, as far as was told.
  private var toldReasons: [String] = []
  /// The number of reasons that are remembered: databases that come and go have a few, in turn.
  private static let memory = 10

  /// The steps for files that could not be admitted.
  struct Steps: Equatable {
    /// True if a next attempt is to be arranged: it is not yet.
    let triesAgain: Bool
    /// True if the reason was not told yet: an attempt a second must not fill the log.
    let tells: Bool
  }

  /// Adds files that could not be admitted.
  mutating func add(_ candidates: [AdmissionCandidate], because reason: String) -> Steps {
    let steps = Steps(triesAgain: files == nil, tells: !toldReasons.contains(reason))
    files = (files ?? []) + candidates
    if steps.tells { toldReasons = toldReasons.suffix(Self.memory - 1) + [reason] }
    return steps
  }

  /// Removes and returns all files, to be admitted now.
  mutating func removeAll() -> [AdmissionCandidate] { files.take() ?? [] }

  /// Notes that an attempt is over; true if none of its files are left, which is to be told.
  mutating func endTrouble() -> Bool {
    if files != nil { return false }
    defer { toldReasons = [] }
    return !toldReasons.isEmpty
  }
}
