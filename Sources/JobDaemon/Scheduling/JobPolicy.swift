import Configuration
import Jobs

/// What holds for a job: what it says itself, else what its type says, else the configuration.
struct JobPolicy: Sendable {
  let configuration: ConfigurationBox

  private var defaults: Configuration.Jobs { configuration.value.jobs }

  func maxAttempts(of job: JobSpecification, _ handler: (any JobHandler)?) -> Int {
    job.maxAttempts ?? handler?.settings.maxAttempts ?? defaults.maxAttempts
  }

  func backoff(of job: JobSpecification, _ handler: any JobHandler) -> Backoff {
    job.backoff ?? handler.settings.backoff
      ?? Backoff(
        Backoff.Growth(rawValue: defaults.backoff.rawValue) ?? .exponential, base: defaults.backoffBase,
        limit: defaults.backoffLimit)
  }

  /// How long an attempt may take; nil for any time.
  func timeout(of job: JobSpecification, _ handler: any JobHandler) -> Duration? {
    job.timeout ?? handler.settings.timeout ?? (defaults.timeout == .zero ? nil : defaults.timeout)
  }

  /// How long a handler has once it was told to end.
  func stopLimit(_ handler: (any JobHandler)?) -> Duration { handler?.settings.stopLimit ?? defaults.stopLimit }
}
