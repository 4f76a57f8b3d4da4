/// How a wait for a job ended.
enum WaitEnd {
  /// The job is completed and its outcome on disk.
  case durable
  case failed
  /// Somebody has to let the job go on, or call it off.
  case held
  /// The time ran out.
  case unfinished
}
