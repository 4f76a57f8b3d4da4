import Configuration
import JobSchedule
import Jobs

/// The policy for a job: its own settings, else its type's, else the configuration's.
struct JobPolicy: Sendable {
  let configuration: ConfigurationBox

  private var defaults: Configuration.Jobs { configuration.value.jobs }

  private func type(_ job: JobSpecification) -> Configuration.JobType { configuration.value[type: job.type] }

  func maxAttempts(of job: JobSpecification, _ handler: (any JobHandler)?) -> Int {
    if let own = job.maxAttempts { return own }
    let configured = type(job).maxAttempts
    return configured > 0 ? configured : handler?.settings.maxAttempts ?? defaults.maxAttempts
  }

  func backoff(of job: JobSpecification, _ handler: any JobHandler) -> Backoff {
    if let own = job.backoff { return own }
    let (type, general) = (type(job), defaults)
    var backoff =
      handler.settings.backoff
      ?? Backoff(Self.growth(general.backoff), base: general.backoffBase, limit: general.backoffLimit)
    if let growth = type.backoff { backoff.growth = Self.growth(growth) }
    if type.backoffBase > .zero { backoff.base = type.backoffBase }
    if type.backoffLimit > .zero { backoff.limit = type.backoffLimit }
    return backoff
  }

  private static func growth(_ growth: BackoffGrowth) -> Backoff.Growth {
    switch growth {
    case .fixed: .fixed
    case .linear: .linear
    case .exponential: .exponential
    }
  }

  /// The upper bound of the delay after an attempt.
  func longestDelay(of job: JobSpecification, _ handler: (any JobHandler)?, after attempt: Int) -> Duration {
    handler.map { backoff(of: job, $0).delay(after: max(attempt, 1), random: 0) } ?? defaults.backoffLimit
  }

  /// An attempt's timeout; nil for none.
  func timeout(of job: JobSpecification, _ handler: any JobHandler) -> Duration? {
    if let own = job.timeout { return own }
    let configured = type(job).timeout
    if configured > .zero { return configured }
    return handler.settings.timeout ?? (defaults.timeout == .zero ? nil : defaults.timeout)
  }

  /// The time that a handler has to end once it was told to.
  func stopLimit(_ handler: (any JobHandler)?) -> Duration { handler?.settings.stopLimit ?? defaults.stopLimit }

  /// The limits of queues and types; those that are no longer configured are lifted.
  ///
  /// - Parameter old: the configuration that was in force before.
  func limits(_ handlers: HandlerTable, replacing old: Configuration?) -> [ResourceLimits] {
    let new = configuration.value
    let queues = Set(new.queues.keys).union(old.map { Set($0.queues.keys) } ?? [])
    let types = Set(new.types.keys).union(old.map { Set($0.types.keys) } ?? []).union(handlers.typesSoFar)
    return queues.map { ResourceLimits(.queue($0), new[queue: $0], concurrent: nil) }
      + types.map { ResourceLimits(.type($0), new[type: $0].limits, concurrent: handlers[$0]?.settings.concurrent) }
  }
}

extension ResourceLimits {
  fileprivate init(_ name: Resource.Name, _ limits: Configuration.Limits, concurrent: Int?) {
    self.init(
      name, concurrent: limits.concurrency > 0 ? limits.concurrency : concurrent,
      rate: limits.rateLimit.map { JobLimit.Rate($0.count, per: $0.period) })
  }
}
