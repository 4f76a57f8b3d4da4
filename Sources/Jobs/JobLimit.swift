/// The limits of all jobs that name the same key; if jobs give a key different numbers, the last admitted one counts.
public struct JobLimit: Sendable, Hashable {
  /// The name of what the jobs share: a tenant, a host, an account.
  public var key: String
  /// The number of them that may run at a time; nil for any.
  public var concurrent: Int?
  /// The rate at which they may start; nil for any.
  public var rate: Rate?

  /// A number of starts in a period.
  public struct Rate: Sendable, Hashable {
    /// The number of jobs that may start within the period; all of them may start at once.
    public var count: Int
    /// The length of a period.
    public var period: Duration

    /// A number of starts in a period.
    public init(_ count: Int, per period: Duration) {
      self.count = count
      self.period = period
    }
  }

  /// A limit that jobs share.
  public init(key: String, concurrent: Int? = nil, rate: Rate? = nil) {
    self.key = key
    self.concurrent = concurrent
    self.rate = rate
  }
}
