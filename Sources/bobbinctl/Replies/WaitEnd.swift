/// How a wait for a job ended.
enum WaitEnd {
  /// The job is completed and its outcome on disk.
  case durable
  case failed
  /// The time ran out.
  case unfinished
}
