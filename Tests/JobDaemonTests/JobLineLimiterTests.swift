import Testing

@testable import JobDaemon

@Suite("The rate of lines about jobs")
struct JobLineLimiterTests {
  private func note(
    _ limiter: inout JobLineLimiter, _ kind: JobLine.Kind, _ type: String, count: Int, limit: Int = 3, at now: Int64 = 0
  ) -> Int {
    (0..<count).count { _ in limiter.admits(kind, ofType: type, limit: limit, at: now) }
  }

  @Test("As many as the limit are told in a second, and the number of the others, by type, when it is over")
  func limit() {
    var limiter = JobLineLimiter()
    #expect(note(&limiter, .completed, "noop", count: 5) == 3)
    #expect(note(&limiter, .completed, "import", count: 34, at: 900) == 0)
    #expect(note(&limiter, .cancelled, "noop", count: 1, at: 900) == 0)
    #expect(limiter.dueTime == 1000)
    #expect(limiter.drain(at: 999) == [])
    #expect(
      limiter.drain(at: 1000).map(\.text) == [
        "36 more jobs were completed: import 34, noop 2", "1 more job was cancelled: noop 1",
      ])
    #expect(limiter.dueTime == nil)
    #expect(note(&limiter, .completed, "noop", count: 5, at: 1000) == 3)
    #expect(limiter.dueTime == 2000)
  }

  @Test("Jobs that end well, however many, take no line from those that fail")
  func troubles() {
    var limiter = JobLineLimiter()
    #expect(note(&limiter, .completed, "noop", count: 10_000) == 3)
    #expect(note(&limiter, .discarded, "import", count: 60) == 60)
    #expect(note(&limiter, .retried, "import", count: 60) == 40)
    #expect(
      limiter.drain(at: 1000).map(\.text) == [
        "9997 more jobs were completed: noop 9997", "20 more jobs failed and are tried again: import 20",
      ])
  }

  @Test("Without lines of their own, all jobs are counted")
  func none() {
    var limiter = JobLineLimiter()
    #expect(note(&limiter, .completed, "noop", count: 2, limit: 0) == 0)
    #expect(limiter.drain(at: 1000).map(\.text) == ["2 jobs were completed: noop 2"])
  }

  @Test(
    "A result is told in short",
    arguments: [
      (
        #"{"inserted": 5, "rejected": 2, "sample": null, "outputs": [{}, {}], "input": {"width": 3}}"#,
        "inserted 5, rejected 2, outputs 2"
      ),
      ("null", nil), ("{}", nil), ("[1, 2]", "[1,2]"), (#""done""#, #""done""#),
    ])
  func result(text: String, summary: String?) { #expect(JobLine.summary(ofResult: text) == summary) }
}
