/// A job as the daemon describes it; what an older or newer daemon may leave out is optional.
struct JobReply: Decodable {
  struct Progress: Decodable {
    let fraction: Double?
    let unit: String?
    let done: Double?
    let total: Double?
    let message: String?
    let ratePerSecond: Double?
    let secondsLeft: Double?
  }

  let id: String
  let type: String
  let state: JobState
  /// True if the state is on disk.
  let durable: Bool
  let queue: String?
  let priority: Int?
  let attempt: Int?
  let maxAttempts: Int?
  let file: String?
  let submitter: Int?
  let createdAt: Timestamp?
  let startedAt: Timestamp?
  let finishedAt: Timestamp?
  let error: String?
  /// The reason why the running attempt was told to stop, if it was.
  let ending: String?
  let progress: Progress?

  /// Returns how a wait for it ended.
  ///
  /// - Parameter allFinished: True if the daemon said that nothing is left to wait for, which decides about states that
  ///   this version doesn't know.
  func waitEnd(allFinished: Bool) -> WaitEnd {
    if state == .completed { return durable ? .durable : .unfinished }
    if state == .held { return .held }
    return state.isFailure || allFinished ? .failed : .unfinished
  }
}
