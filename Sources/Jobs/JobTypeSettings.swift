/// What holds for the jobs of a type that say nothing else; nil where the configuration's general value holds.
public struct JobTypeSettings: Sendable, Hashable {
  /// How often a job is started before it is given up.
  public var maxAttempts: Int?
  /// How long a job waits after an attempt that failed.
  public var backoff: Backoff?
  /// How long an attempt may take.
  public var timeout: Duration?
  /// How many jobs of the type may run at a time.
  public var concurrent: Int?
  /// How long a handler needs at most to end once it was told to; after that its attempt is taken from it.
  public var stopLimit: Duration?

  /// Settings that leave everything to the configuration.
  public init() {}
}
