import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import SystemSupport
import Testing

@testable import JobDaemon

@Suite("The recovery of an earlier run's jobs")
struct RecoveryTests {
  private let fixture: DaemonFixture

  init() throws {
    fixture = try DaemonFixture()
  }

  /// Inserts the record of an earlier run's job.
  private func insert(
    _ id: String, _ state: JobState, change: @Sendable (Job) -> Void = { _ in }
  ) throws -> ManagedObjectID {
    try ManagedObjectContext(parent: fixture.daemon.main, name: "earlier").performAndWait { context in
      let job = Job(context: context)
      job.id = id
      job.type = "noop"
      job.maxAttempts = 3
      job.currentState = state
      change(job)
      try context.save()
      return job.objectID
    }
  }

  private func recover(present: Set<FileName> = []) throws -> (count: Int, files: [FileName: LiveFile]) {
    var recovery = Recovery(fixture.daemon.engine, fixture.daemon.control, present: present)
    return (try recovery.recoverJobs(), recovery.files)
  }

  private func state(_ id: ManagedObjectID) -> JobState? {
    fixture.daemon.scheduler.read { schedule, _ in schedule.state(of: id) }
  }

  @Test("Unfinished jobs are scheduled in their states, final ones are not")
  func states() async throws {
    let future = Date(timeIntervalSinceNow: 3_600)
    let available = try insert("available", .available)
    let scheduled = try insert("scheduled", .scheduled) { $0.dueAt = future }
    let held = try insert("held", .held)
    let retryable = try insert("retryable", .retryable) { $0.dueAt = Date(timeIntervalSinceNow: 3_600) }
    let finished = try [JobState.completed, .cancelled, .discarded, .quarantined].map { try insert($0.rawValue, $0) }
    #expect(try recover().count == 4)
    #expect(state(available) == .available)
    #expect(state(scheduled) == .scheduled)
    #expect(state(held) == .held)
    #expect(state(retryable) == .retryable)
    #expect(finished.allSatisfy { state($0) == nil })
    try await fixture.stop()
  }

  @Test("An attempt that the daemon's end cut short is made up for, but not for ever")
  func interrupted() async throws {
    let running = try insert("running", .running) { $0.attempt = 1 }
    let often = try insert("often", .running) { $0.attempt = 100 }
    _ = try recover()
    #expect(state(running) == .available && state(often) == .available)
    #expect(try fixture.record("running") { [$0.maxAttempts] } == [4])
    #expect(try fixture.record("often") { [$0.maxAttempts] } == [3])
    try await fixture.stop()
  }

  @Test("A job waits for what is unfinished or unknown, and not for what is completed")
  func blockers() async throws {
    _ = try insert("done", .completed)
    _ = try insert("open", .held)
    let free = try insert("free", .waiting) { $0.options = #"{"after": ["done"]}"# }
    let waiting = try insert("waiting", .waiting) { $0.options = #"{"after": ["done", "open"]}"# }
    let unknown = try insert("unknown", .waiting) { $0.options = #"{"afterAny": ["never"]}"# }
    _ = try recover()
    #expect(state(free) == .available)
    #expect(state(waiting) == .waiting && state(unknown) == .waiting)
    try await fixture.stop()
  }

  @Test("A job that was told to end is kept from starting: a hold lasts, a cancellation is carried out")
  func toldToEnd() async throws {
    let held = try insert("held", .running) { $0.setPendingStop(.held) }
    _ = try insert("cancelled", .running) { $0.setPendingStop(.cancelled, "enough") }
    _ = try recover()
    #expect(state(held) == .held)
    try await fixture.waitUntil { [fixture] in try fixture.record("cancelled") { $0.currentState } == .cancelled }
    #expect(try fixture.record("held") { $0.currentState } == .held)
    #expect(try fixture.record("cancelled") { $0.failure } == "enough")
    try await fixture.stop()
  }

  @Test("A file with several unfinished jobs is expected once; one that is not in cur/ is not expected")
  func files() async throws {
    for id in ["a", "b"] { _ = try insert(id, .held) { $0.file = "two.json" } }
    _ = try insert("c", .held) { $0.file = "gone.json" }
    let files = try recover(present: ["two.json", "other.json"]).files
    #expect(Set(files.keys) == ["two.json"])
    #expect(files["two.json"]?.isOfEarlierRun == true)
    try await fixture.stop()
  }

  @Test(
    "A job has waited since it could have started, and not while it ran before; only what was put back loses its place")
  func waiting() async throws {
    let anHourAgo = Date(timeIntervalSinceNow: -3_600)
    let jobs = [
      try insert("waited", .available) { ($0.createdAt, $0.file) = (anHourAgo, "a.json") },
      try insert("late", .available) {
        ($0.createdAt, $0.dueAt, $0.file) = (anHourAgo, Date(timeIntervalSinceNow: -60), "a.json")
      },
      try insert("interrupted", .running) { ($0.createdAt, $0.attempt, $0.file) = (anHourAgo, 1, "a.json") },
      try insert("retried", .available) { $0.createdAt = anHourAgo },
    ]
    _ = try recover(present: ["a.json"])
    let (waited, before) = fixture.daemon.scheduler.read { schedule, now in
      let times = jobs.map { id in schedule.job(id).map { schedule.waitingTime(of: $0, at: now) } ?? -1 }
      return (times, jobs.map { schedule.obstacles(of: $0, at: now) })
    }
    #expect(waited[0] >= 3_600_000 && (60_000..<3_600_000).contains(waited[1]), "\(waited)")
    #expect((0..<60_000).contains(waited[2]) && (0..<60_000).contains(waited[3]), "\(waited)")
    #expect(before == [[.queue(0)], [.queue(2)], [.queue(1)], [.queue(3)]])
    try await fixture.stop()
  }

  @Test("What operators had paused is paused again")
  func pauses() async throws {
    try ManagedObjectContext(parent: fixture.daemon.main, name: "earlier").performAndWait { context in
      let pause = Pause(context: context)
      (pause.kind, pause.name) = ("queue", "slow")
      try context.save()
    }
    _ = try recover()
    #expect(fixture.daemon.scheduler.read { schedule, _ in schedule.paused } == [.queue("slow")])
    try await fixture.stop()
  }
}
