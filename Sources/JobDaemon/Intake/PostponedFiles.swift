/// The files in `cur/` whose admission is to be tried again, and what was told of the reason.
struct PostponedFiles {
  private var files: [AdmissionCandidate]?
  /// The reason that was told; nil if nothing is wrong, as far as was told.
  private var toldReason: String?

  /// The steps for files that could not be admitted.
  struct Steps: Equatable {
    /// True if a next attempt is to be arranged: it is not yet.
    let triesAgain: Bool
    /// True if the reason is another than the one that was told: an attempt a second must not fill the log.
    let tells: Bool
  }

  /// Adds files that could not be admitted.
  mutating func add(_ candidates: [AdmissionCandidate], because reason: String) -> Steps {
    defer {
      files = (files ?? []) + candidates
      toldReason = reason
    }
    return Steps(triesAgain: files == nil, tells: toldReason != reason)
  }

  /// Removes and returns all files, to be admitted now.
  mutating func removeAll() -> [AdmissionCandidate] { files.take() ?? [] }

  /// Notes that an attempt is over; true if none of its files are left, which is to be told.
  mutating func endTrouble() -> Bool {
    if files != nil { return false }
    return toldReason.take() != nil
  }
}
