/// Defaults for the jobs of a type; nil where the configuration's general value applies.
public struct JobTypeSettings: Sendable, Hashable {
  /// The number of attempts before a job is discarded.
  public var maxAttempts: Int?
  /// The delay of a job after a failed attempt.
  public var backoff: Backoff?
  /// The timeout of an attempt.
  public var timeout: Duration?
  /// The number of jobs of the type that may run at a time.
  public var concurrent: Int?
  /// The time that a handler has to end once it was told to; after that its attempt is abandoned.
  public var stopLimit: Duration?
  /// True if a handler must not run on two hosts of a fleet at a time: it is told to end when another host may begin its job.
  public var isExclusive = false

  /// Settings that leave everything to the configuration.
  public init() {}
}
