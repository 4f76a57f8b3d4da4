public import Foundation
public import JSONText
import TextSupport

/// A job as its file describes it.
public struct JobSpecification: Sendable, Hashable {
  /// The type, which chooses the handler.
  public var type: String
  /// The idempotency key, if the file gives one: the same ID is run once. In a file, a name that begins with # is its
  /// own, and becomes a part of the ID.
  public var id: String?
  /// The queue that the job waits in.
  public var queue: String
  /// The priority, from -100 to 100, higher first.
  public var priority: Int
  /// The moment before which the job is not run.
  public var notBefore: Date?
  /// The timeout of an attempt; nil for that of its type.
  public var timeout: Duration?
  /// The number of attempts; nil for the configured one.
  public var maxAttempts: Int?
  /// The file's own ``maxAttempts``, in a job that was read from its record.
  package var ownMaxAttempts: Int?
  /// The delay after a failed attempt; nil for that of its type.
  public var backoff: Backoff?
  /// The jobs that must be completed before it starts; if one fails, this one is cancelled.
  public var after: [String]
  /// The jobs that must be final before it starts, in whatever way.
  public var afterAny: [String]
  /// The batch that it belongs to.
  public var batch: String?
  /// The batch whose jobs must all be final before it starts.
  public var afterBatch: String?
  /// The key that no other unfinished job may have.
  public var unique: String?
  /// The limit that it shares with other jobs.
  public var limit: JobLimit?
  /// The place that its host has to offer; nil for any host.
  public var place: String?
  /// The trace that it belongs to.
  public var trace: TraceContext?
  /// True if it replaces the known job of its ID. A record keeps ``replacements`` instead.
  public var replaces = false
  /// The identities of the last files that have replaced it, or made it and would have replaced it: each does so once.
  package var replacements: [String] = []
  /// The attempts that a job of a fleet had before it got this specification; numbers of attempts go on. It is one less, and
  /// so below zero for one that has had none, if the job was put back: it waits for nothing any more.
  package var earlierAttempts = 0
  /// The identity of the file that the daemon has made the ID of; nil if people gave the ID.
  package var madeOf: String?
  /// The handler's arguments, which it checks before the job is admitted.
  public var arguments: JSONValue

  /// A job to be submitted.
  public init(
    type: String, id: String? = nil, queue: String = "default", priority: Int = 0, maxAttempts: Int? = nil,
    arguments: JSONValue = .object([:])
  ) {
    self.type = type
    self.id = id
    self.queue = queue
    self.priority = priority
    self.maxAttempts = maxAttempts
    self.arguments = arguments
    after = []
    afterAny = []
  }

  /// True if it has to wait for other jobs.
  public var hasDependencies: Bool { !after.isEmpty || !afterAny.isEmpty || afterBatch != nil }
}

/// The delay of a job after a failed attempt.
public struct Backoff: Sendable, Hashable {
  /// The growth of the delay from attempt to attempt.
  public enum Growth: String, Sendable, Hashable, CaseIterable {
    /// The same delay every time.
    case fixed
    /// Once, twice, three times the first delay.
    case linear
    /// Once, twice, four times the first delay.
    case exponential
  }

  /// The growth of the delay.
  public var growth: Growth
  /// The delay after the first attempt.
  public var base: Duration
  /// No delay is longer.
  public var limit: Duration
  /// The share by which a delay may be shorter, from 0 to 1, so that jobs that failed together don't come back
  /// together.
  public var jitter: Double

  /// A backoff; by default a second, then two, four and so on, up to six hours, each up to a tenth shorter.
  public init(
    _ growth: Growth = .exponential, base: Duration = .seconds(1), limit: Duration = .seconds(6 * 3600),
    jitter: Double = 0.1
  ) {
    self.growth = growth
    self.base = base
    self.limit = limit
    self.jitter = jitter
  }

  /// The delay after an attempt.
  ///
  /// - Parameters:
  ///   - attempt: the number of failed attempts, from 1.
  ///   - random: a number from 0 up to 1, which decides how much shorter the delay is.
  public func delay(after attempt: Int, random: Double) -> Duration {
    let factor: Double =
      switch growth {
      case .fixed: 1
      case .linear: Double(attempt)
      // Beyond it every sensible limit has long been reached, and the power would be infinite.
      case .exponential: Double(sign: .plus, exponent: min(attempt - 1, 60), significand: 1)
      }
    let seconds = min(base / .seconds(1) * factor, limit / .seconds(1))
    return .seconds(seconds * (1 - jitter * random))
  }
}

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

extension JobLimit.Rate {
  /// Reads `10/s` or `100/15min`; nil if the text is neither.
  package init?(text: String) {
    guard let (count, period) = RateText.parse(text) else { return nil }
    self.init(count, per: period)
  }

  /// The text that parses to this rate.
  package var text: String { RateText.text(of: count, per: period) }
}

extension JobSpecification {
  /// Returns true for a name that is known in its file only.
  package static func isLocal(_ name: String) -> Bool { name.hasPrefix("#") }

  /// True if the job's ID is made of its file.
  package var isNamedAfterFile: Bool { id.map(Self.isLocal) ?? true }
}
