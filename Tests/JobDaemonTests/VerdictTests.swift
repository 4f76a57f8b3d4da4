import Configuration
import Jobs
import ObjectGraph
import SystemSupport
import Testing

@testable import JobDaemon

@Suite("The verdict on a failed attempt")
struct VerdictTests {
  private typealias Circumstances = Verdict.Circumstances

  /// A verdict in words that can be compared.
  private func verdict(
    _ error: any Error, attempt: Int = 1, maxAttempts: Int = 5, crashes: Int = 0, stop: RunningJob.Stop? = nil,
    backoff: Backoff = Backoff(.fixed, base: .seconds(10), jitter: 0), isShared: Bool = false
  ) -> String {
    let verdict = Verdict(
      error,
      Circumstances(
        stop: stop, attempt: attempt, maxAttempts: maxAttempts, crashes: crashes, backoff: backoff, isShared: isShared))
    if case .retry(let delay, _) = verdict { return "retry after \(delay / .seconds(1))" }
    return "\(verdict.event)"
  }

  private func failure(permanent: Bool = false, shortage: Bool = false, crashed: Bool = false) -> JobFailure {
    var failure = JobFailure("for a reason", isPermanent: permanent)
    failure.isShortage = shortage
    if crashed { failure.crash = CrashEvidence(signal: 11) }
    return failure
  }

  @Test("A failure is tried again until the attempts are used up, a permanent one never")
  func attempts() {
    #expect(verdict(failure(), attempt: 1, maxAttempts: 2) == "retry after 10.0")
    #expect(verdict(failure(), attempt: 2, maxAttempts: 2) == "gaveUp")
    #expect(verdict(failure(), attempt: 3, maxAttempts: 2) == "gaveUp")
    #expect(verdict(failure(permanent: true), attempt: 1) == "gaveUp")
  }

  @Test("The third crash puts a job into quarantine, whatever attempts are left")
  func crashes() {
    #expect(verdict(failure(crashed: true), crashes: 0) == "retry after 10.0")
    #expect(verdict(failure(crashed: true), crashes: 1) == "retry after 10.0")
    #expect(verdict(failure(crashed: true), crashes: 2) == "quarantined")
    #expect(verdict(failure(crashed: true), attempt: 5, crashes: 1) == "gaveUp")
    #expect(verdict(failure(), crashes: 2) == "retry after 10.0")
  }

  @Test("A shortage is waited for beyond all attempts, but never longer than a minute at a time")
  func shortages() {
    let long = Backoff(.fixed, base: .seconds(3600), jitter: 0)
    #expect(verdict(failure(shortage: true), attempt: 9, maxAttempts: 2, backoff: long) == "retry after 60.0")
    #expect(verdict(failure(permanent: true, shortage: true)) == "retry after 10.0")
    #expect(verdict(failure(), backoff: long) == "retry after 3600.0")
  }

  @Test("A fault of the host puts a job back, and in a fleet is waited for like a shortage")
  func hostFaults() {
    let fault = HostFault("no program")
    #expect(verdict(fault, attempt: 9, maxAttempts: 2) == "interrupted")
    #expect(verdict(fault, attempt: 9, maxAttempts: 2, isShared: true) == "retry after 10.0")
    #expect(verdict(fault, stop: .cancelled("by somebody")) == "cancelled")
  }

  @Test("A full disk and a busy store are shortages, a broken one is not")
  func stores() {
    for code in [StoreError.Code.full, .busy] {
      #expect(verdict(StoreError(code, "x"), attempt: 9, maxAttempts: 1) == "retry after 10.0")
    }
    #expect(verdict(StoreError(.corrupt, "x"), attempt: 9, maxAttempts: 1) == "gaveUp")
    let full = SystemError(.diskFull, call: "write")
    #expect(verdict(full, attempt: 9, maxAttempts: 1) == "retry after 10.0")
    #expect(verdict(SystemError(.accessDenied, call: "open"), attempt: 9, maxAttempts: 1) == "gaveUp")
  }

  @Test("Values that don't fit the model will not fit the next time; what nobody foresaw may help itself")
  func unforeseen() throws {
    struct Unforeseen: Error {}
    #expect(verdict(Unforeseen()) == "retry after 10.0")
    let fixture = try WriterFixture()
    let invalid = #expect(throws: ValidationError.self) {
      try fixture.main.performAndWait { context in
        Job(context: context).setPrimitiveValue(.null, forKey: "type")
        try context.save()
      }
    }
    #expect(verdict(try #require(invalid)) == "gaveUp")
  }

  @Test("What an attempt was told goes before what its handler throws")
  func stops() {
    let error = failure(permanent: true)
    #expect(verdict(error, stop: .shutdown) == "interrupted")
    #expect(verdict(error, stop: .held) == "held")
    #expect(verdict(error, stop: .cancelled("no need")) == "cancelled")
    #expect(verdict(error, stop: .timedOut(.seconds(1))) == "retry after 10.0")
    #expect(verdict(error, attempt: 5, stop: .timedOut(.seconds(1))) == "gaveUp")
  }
}

@Suite("The backoff")
struct BackoffTests {
  @Test("Delays grow as their kind says, from the first on, up to the limit")
  func growth() {
    func delays(_ growth: Backoff.Growth) -> [Double] {
      let backoff = Backoff(growth, base: .seconds(2), limit: .seconds(9), jitter: 0)
      return (1...5).map { backoff.delay(after: $0, random: 0.5) / .seconds(1) }
    }
    #expect(delays(.fixed) == [2, 2, 2, 2, 2])
    #expect(delays(.linear) == [2, 4, 6, 8, 9])
    #expect(delays(.exponential) == [2, 4, 8, 9, 9])
    #expect(Backoff(jitter: 0).delay(after: .max, random: 0) == .seconds(6 * 3600))
  }

  @Test("By default the last attempt comes after more than a day, and within two, however the jitter falls")
  func overADay() {
    let defaults = Configuration().jobs
    let backoff = Backoff()
    #expect(backoff == Backoff(.exponential, base: defaults.backoffBase, limit: defaults.backoffLimit))
    #expect(backoff.jitter > 0)
    for random in [0, 1.0] {
      let delays = (1..<defaults.maxAttempts).map { backoff.delay(after: $0, random: random) }
      let last = delays.reduce(.zero, +)
      #expect(last > .seconds(86_400) && last < .seconds(2 * 86_400))
      // At once at first, in case that is enough.
      #expect(delays[0] <= .seconds(1))
    }
  }

  @Test("Jitter makes a delay shorter by at most its share")
  func jitter() {
    let backoff = Backoff(.fixed, base: .seconds(10), jitter: 0.5)
    #expect(backoff.delay(after: 1, random: 0) == .seconds(10))
    #expect(backoff.delay(after: 1, random: 0.5) == .seconds(7.5))
    #expect(backoff.delay(after: 1, random: 1) == .seconds(5))
  }
}
