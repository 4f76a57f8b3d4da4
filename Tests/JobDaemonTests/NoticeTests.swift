import Foundation
import JSONText
import Jobs
import ObjectGraph
import Synchronization
import TestSupport
import Testing

@testable import JobDaemon

@Suite("Notices of events")
struct NoticeTests {
  private static let fails = ScriptedHandler("fails") { _ in throw JobFailure("no ink") }
  private static let crashes = ScriptedHandler("crashes") { _ in
    var failure = JobFailure("crashed", isPermanent: false)
    failure.crash = CrashEvidence(signal: 11)
    throw failure
  }

  private func fixture(_ settings: String, telling: ScriptedHandler = ScriptedHandler("tell") { _ in .null }) throws
    -> DaemonFixture
  {
    let fixture = try DaemonFixture(
      "[Notify ops]\nType=tell\n\(settings)", handlers: [Self.fails, Self.crashes, telling])
    try fixture.start()
    return fixture
  }

  /// The arguments of all notices, in the order of their admission, once there are so many that are over.
  private func notices(_ fixture: DaemonFixture, count: Int) async throws -> [(id: String, event: JSONValue)] {
    let found = Mutex<[(id: String, event: JSONValue)]>([])
    try await fixture.waitUntil {
      let notices = try ManagedObjectContext(parent: fixture.daemon.main, name: "test").performAndWait { context in
        try context.fetch(FetchRequest<Job>(format: "type == %@", "tell", sortBy: [.ascending(\.createdAt)]))
          .filter { $0.currentState.isFinal }
          .map { ($0.id, try JSONValue(parsing: Array($0.arguments.utf8))) }
      }
      found.withLock { $0 = notices }
      return notices.count >= count
    }
    return found.withLock { $0 }
  }

  /// The event that a notice's ID names, without its moment.
  private func event(_ id: String) -> String { id.replacing(/-\d{4}-\d\d-\d\dT[\d:.]+Z$/, with: "") }

  @Test("A job that fails for good, and one that goes into quarantine, is told by a job with the event as arguments")
  func jobs() async throws {
    let fixture = try fixture("Queue=alarms\n")
    try await fixture.run(#"{"type": "noop", "id": "good"}"#)
    try await fixture.run(#"{"type": "fails", "id": "bad", "queue": "q", "batch": "b"}"#)
    try await fixture.run(
      #"{"type": "crashes", "id": "worse", "maxAttempts": 9, "backoff": {"kind": "fixed", "base": "1ms"}}"#)
    let told = try await notices(fixture, count: 2)
    #expect(told.map { event($0.id) } == ["notice-ops-bad-discarded", "notice-ops-worse-quarantined"])
    #expect(told[0].event["event"] == "discarded")
    #expect(told[0].event["text"] == "the job bad (fails) was discarded: no ink")
    let job = try #require(told[0].event["job"])
    #expect(job["id"] == "bad" && job["queue"] == "q" && job["batch"] == "b" && job["error"] == "no ink")
    #expect(job["attempt"] == 1 && job["submitter"]?.integer == Int64(getuid()))
    #expect(told[1].event["text"] == "the job worse (crashes) is in quarantine: crashed")
    #expect(try fixture.record(told[0].id) { $0.queue } == "alarms")
    #expect(try fixture.record(told[0].id) { $0.submitter } == Int64(geteuid()))
    // Another life of the same job is another event.
    #expect(try await fixture.perform(.retry, on: "bad") == .done)
    #expect(try await notices(fixture, count: 3).last.map { event($0.id) } == "notice-ops-bad-discarded")
    // And so is a job that comes again under the ID of one that was deleted.
    #expect(try await fixture.perform(.delete, on: "bad") == .done)
    try await fixture.run(#"{"type": "fails", "id": "bad"}"#)
    let last = try #require(try await notices(fixture, count: 4).last)
    #expect(event(last.id) == "notice-ops-bad-discarded" && last.event["job"]?["attempt"] == 1)
    try await fixture.stop()
  }

  @Test("Only the events that were asked for are told, and a batch when all of it has ended")
  func batches() async throws {
    let fixture = try fixture("On=batch\n")
    try await fixture.run(
      #"""
      {"batch": "nightly", "jobs": [{"type": "noop", "id": "a"}, {"type": "fails", "id": "b"},
        {"type": "noop", "id": "c", "after": "a"}]}
      """#)
    let told = try await notices(fixture, count: 1)
    #expect(told.map { event($0.id) } == ["notice-ops-nightly-batch"])
    #expect(told[0].event["text"] == "the batch nightly has ended: 3 jobs, of which 1 failed")
    #expect(told[0].event["batch"]?["failed"] == [["id": "b", "error": "no ink"]])
    // More jobs of the same name end it once more.
    try await fixture.run(#"{"type": "noop", "id": "d", "batch": "nightly"}"#)
    let again = try await notices(fixture, count: 2)
    #expect(again.last?.event["text"] == "the batch nightly has ended: 4 jobs, of which 1 failed")
    // And so does one whose failed job is tried once more, and fails as before.
    #expect(try await fixture.perform(.retry, on: "b") == .done)
    #expect(try await notices(fixture, count: 3).last?.event["text"] == again.last?.event["text"])
    try await fixture.stop()
  }

  @Test("A notice that fails raises no notice, whoever submitted the job of that type")
  func loops() async throws {
    let telling = ScriptedHandler("tell") { _ in throw JobFailure("no mail") }
    let fixture = try fixture("", telling: telling)
    try await fixture.run(#"{"type": "fails", "id": "bad"}"#)
    try await fixture.run(#"{"type": "tell", "id": "own"}"#)
    try await fixture.run(#"{"type": "fails", "id": "last"}"#)
    let told = try await notices(fixture, count: 3)
    #expect(told.map { event($0.id) }.sorted() == ["notice-ops-bad-discarded", "notice-ops-last-discarded", "own"])
    try await fixture.stop()
  }

  @Test("Beyond the limit events are told together, at the daemon's end at the latest")
  func digest() async throws {
    let fixture = try fixture("Limit=2\n")
    for number in 1...5 { try await fixture.run(#"{"type": "fails", "id": "j\#(number)"}"#) }
    let told = try await notices(fixture, count: 2).map { self.event($0.id) }
    #expect(told == (1...2).map { "notice-ops-j\($0)-discarded" })
    fixture.daemon.notices.flush()
    let event = try #require(try await notices(fixture, count: 3).last?.event)
    #expect(event["event"] == "digest" && event["text"] == "3 events: 3 discarded")
    #expect(event["counts"] == ["discarded": 3])
    #expect(event["events"]?.array?.map { $0["job"]?["id"]?.string } == ["j3", "j4", "j5"])
    try await fixture.stop()
  }

  @Test("What waits when the daemon stops is kept for its next start")
  func stopped() async throws {
    let fixture = try fixture("Limit=1\n")
    for number in 1...3 { try await fixture.run(#"{"type": "fails", "id": "j\#(number)"}"#) }
    _ = try await notices(fixture, count: 1)
    _ = await fixture.daemon.stop()
    let kept = try fixture.daemon.spool.current.entries()
    #expect(kept.count == 1)
    let file = try fixture.daemon.spool.current.openFile(try #require(kept.first))
    let job = try JSONValue(parsing: Array(try file.readAll(limit: 1 << 20)))
    #expect(job["type"] == "tell" && job["arguments"]?["text"] == "2 events: 2 discarded")
    try fixture.daemon.coordinator.close()
  }

  @Test("A store that had no room is told when there is some again, and only then")
  func fullStore() async throws {
    let fixture = try fixture("On=storage-full\n")
    fixture.daemon.notices.noteRoom()
    fixture.daemon.notices.noteFullStore(StoreError(.full, "disk is full"))
    fixture.daemon.notices.noteRoom()
    let told = try await notices(fixture, count: 1)
    #expect(told.count == 1 && told[0].event["event"] == "storage-full")
    #expect(told[0].event["error"]?.string?.contains("disk is full") == true)
    #expect(told[0].event["text"]?.string?.hasPrefix("the store had no room from ") == true)
    try await fixture.stop()
  }

  @Test("The ID of a notice has 200 bytes at most, and is the same for the same event")
  func longIDs() {
    let notice = Notice(kind: .discarded, key: String(repeating: "k", count: 200), text: "", details: [:])
    let id = NoticeLimiter.Outgoing.one(notice).jobID(of: "ops")
    #expect(id?.utf8.count == 23 && id == NoticeLimiter.Outgoing.one(notice).jobID(of: "ops"))
    #expect(id != NoticeLimiter.Outgoing.one(notice).jobID(of: "others"))
  }
}
