/// The end of a wait for a job.
enum WaitEnd {
  /// The job is completed and its outcome on disk.
  case durable
  case failed
  /// The job is held until somebody releases or cancels it.
  case held
  /// The time ran out.
  case unfinished
}
