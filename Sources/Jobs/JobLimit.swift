/// What bounds all jobs that name the same key; of jobs that give a key different numbers, the last accepted counts.
public struct JobLimit: Sendable, Hashable {
  /// What the jobs share: a tenant, a host, an account.
  public var key: String
  /// How many of them may run at a time; nil for any number.
  public var concurrent: Int?
  /// How many may start in a time; nil for any number.
  public var rate: Rate?

  /// So many in so long.
  public struct Rate: Sendable, Hashable {
    /// How many may start within the period; so many may also start at once.
    public var count: Int
    /// How long a period is.
    public var period: Duration

    /// So many in so long.
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
