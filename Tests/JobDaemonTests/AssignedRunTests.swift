import Fleet
import Foundation
import JSONText
import JobSchedule
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport
import TestSupport
import Testing

@testable import JobDaemon

/// Runs that a fleet's lead has assigned to this host.
@Suite("A run that is assigned to this host")
struct AssignedRunTests {
  private static let id = ManagedObjectID(key: 7, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)

  private static func assignment(attempt: Int) -> (run: Run, job: NewJob) {
    (
      Run(job: id, host: 1, attempt: attempt),
      NewJob(elsewhere: id, file: nil, type: "work", queue: "q", name: "job")
    )
  }

  @Test("waits until the job's last end has left this host", arguments: [JobEvent.cancelled, .succeeded])
  func nextRun(_ event: JobEvent) async throws {
    let scheduler = Scheduler(agingStep: .seconds(60), patience: .seconds(3600))
    scheduler.begin([Self.assignment(attempt: 1)])
    let first = try #require(try await withTimeout { await scheduler.next() })
    // The next one is assigned as soon as the end is on record, which may be before this host has noted it.
    scheduler.begin([Self.assignment(attempt: 2)])
    _ = scheduler.end(first, event)
    #expect(scheduler.read { schedule, _ in schedule.state(of: Self.id)?.isFinal } == true)
    async let second = withTimeout { await scheduler.next() }
    scheduler.change { schedule, now in schedule.remove(Self.id, at: now) }
    #expect(try await second?.run == Run(job: Self.id, host: 1, attempt: 2))
  }

  @Test("begins behind one whose job is not free yet")
  func others() async throws {
    let scheduler = Scheduler(agingStep: .seconds(60), patience: .seconds(3600))
    let other = ManagedObjectID(key: 8, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)
    scheduler.begin([Self.assignment(attempt: 1)])
    _ = try await withTimeout { await scheduler.next() }
    let run = Run(job: other, host: 1, attempt: 1)
    scheduler.begin([
      Self.assignment(attempt: 2),
      (run, NewJob(elsewhere: other, file: nil, type: "work", queue: "q", name: "other")),
    ])
    #expect(try await withTimeout { await scheduler.next() }?.run == run)
  }

  @Test(
    "that began before its file was read again, and fails, leaves the job where the file waits for its end",
    arguments: [true, false])
  func awaited(isAwaited: Bool) async throws {
    let scheduler = Scheduler(agingStep: .seconds(60), isAwaited: { _ in isAwaited }, patience: .seconds(3600))
    scheduler.begin([Self.assignment(attempt: 1)])
    let first = try #require(try await withTimeout { await scheduler.next() })
    _ = scheduler.end(first, .failed, delay: .seconds(3600))
    #expect(scheduler.read { schedule, _ in schedule.contains(Self.id) } == isAwaited)
  }

  @Test("is not hidden by the expectation of its job's file that comes at the same moment")
  func expected() async throws {
    let scheduler = Scheduler(agingStep: .seconds(60), patience: .seconds(3600))
    let other = ManagedObjectID(key: 8, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)
    scheduler.begin([Self.assignment(attempt: 1)])
    let first = try #require(try await withTimeout { await scheduler.next() })
    let expected = [other, Self.id].map {
      NewJob(elsewhere: $0, file: nil, type: "work", queue: "q", name: "job\($0.key)")
    }
    #expect(!scheduler.addUnlessKnown(expected))
    #expect(scheduler.read { schedule, _ in schedule.count } == 1)
    #expect(scheduler.read { schedule, _ in schedule.state(of: Self.id) } == .running)
    _ = scheduler.end(first, .succeeded)
    scheduler.change { schedule, now in schedule.remove(Self.id, at: now) }
    #expect(scheduler.addUnlessKnown(expected))
  }

  /// Notes what it is asked for.
  private final class Importer: JobHandler, Sendable {
    let type = "importer"
    let calls = Mutex<[String]>([])

    func validate(_ arguments: JSONValue) throws(JobFileError) {}

    nonisolated(nonsending) func run(_ execution: JobExecution) async throws -> JSONValue {
      calls.withLock { $0.append("run") }
      return .null
    }

    func revert(_ execution: JobExecution) async throws { calls.withLock { $0.append("revert") } }
  }

  @Test("of a job that was given up, and whose host died meanwhile, reverts the job and discards it")
  func givenUp() async throws {
    let importer = Importer()
    let fixture = try DaemonFixture(handlers: [importer])
    try fixture.start()
    let id = try ManagedObjectContext(parent: fixture.daemon.main, name: "earlier").performAndWait { context in
      let job = Job(context: context)
      (job.id, job.type, job.maxAttempts, job.attempt) = ("given-up", importer.type, 4, 3)
      job.cursor = "{}"
      job.setPendingStop(.gaveUp, "it failed too often")
      job.currentState = .available
      try context.save()
      return job.objectID
    }
    fixture.daemon.scheduler.begin([
      (
        Run(job: id, host: 1, attempt: 4),
        NewJob(elsewhere: id, file: nil, type: importer.type, queue: "default", name: "given-up")
      )
    ])
    try await fixture.waitUntil { try fixture.record("given-up") { $0.currentState } == .discarded }
    #expect(importer.calls.withLock { $0 } == ["revert"])
    #expect(try fixture.record("given-up") { $0.failure } == "it failed too often")
    #expect(try fixture.record("given-up") { $0.stopEvent } == nil)
    try await fixture.stop()
  }

  @Test("whose record can't be read for now is not held: a single host waits for its store")
  func unreadable() async throws {
    let made = Mutex<FailingStore?>(nil)
    let fixture = try DaemonFixture(
      handlers: [
        ScriptedHandler("first") { _ in
          made.withLock { $0 }?.failReads(with: [StoreError(.busy, "away for now")])
          return .object(["n": 1])
        }, ScriptedHandler("second") { $0.arguments },
      ],
      store: PersistentStoreDescription { model, ordinal in
        let store = FailingStore(model: model, ordinal: ordinal)
        made.withLock { $0 = store }
        return store
      })
    try fixture.start()
    try await fixture.run(
      #"""
      {"jobs": [
        {"type": "first", "id": "one"},
        {"type": "second", "id": "two", "arguments": {"n": {"from": "one", "result": "n"}}, "after": ["one"]}
      ]}
      """#)
    #expect(try fixture.record("two") { $0.currentState } == .completed)
    try await fixture.stop()
  }

  private final class Desk: Sendable {
    let scheduler: Scheduler
    let isTold = Latch()
    private let returned = Mutex<[Run]>([])

    init(patience: Duration) {
      let events = DaemonEvents()
      scheduler = Scheduler(agingStep: .seconds(60), events: events, patience: patience)
      events.connect { [weak self] event in
        guard case .givenBack(let runs) = event, let self else { return }
        self.returned.withLock { $0 += runs }
        self.isTold.open()
      }
    }

    var givenBack: [Run] { returned.withLock { $0 } }

    /// Assigns runs of jobs that came to another host's spool.
    func assign(_ keys: ClosedRange<Int64>) -> [Run] {
      let runs = keys.map { key in
        Run(
          job: ManagedObjectID(key: key, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0), host: 1, attempt: 1)
      }
      scheduler.begin(
        runs.map { ($0, NewJob(elsewhere: $0.job, file: nil, type: "noop", queue: "q", name: "\($0.job.key)")) })
      return runs
    }

    func contains(_ run: Run) -> Bool { scheduler.read { schedule, _ in schedule.contains(run.job) } }
  }

  @Test("is given back if no worker becomes free")
  func patience() {
    let desk = Desk(patience: .milliseconds(10))
    let runs = desk.assign(1...2)
    #expect(desk.isTold.wait(for: .seconds(30)))
    #expect(desk.givenBack == runs)
    #expect(!desk.contains(runs[0]), "another spool's job has nothing to do with this host any more")
  }

  @Test("is given back at once when the host stops")
  func close() {
    let desk = Desk(patience: .seconds(3600))
    let runs = desk.assign(1...2)
    desk.scheduler.close()
    #expect(desk.givenBack == runs)
  }

  @Test("is given back at once if it is told to end before it has begun, and others are not")
  func stop() async {
    let desk = Desk(patience: .seconds(3600))
    let runs = desk.assign(1...2)
    desk.scheduler.giveBack(runs[0])
    #expect(desk.givenBack == [runs[0]])
    let next = await desk.scheduler.next()
    #expect(next?.run == runs[1])
    desk.scheduler.giveBack(runs[1])
    #expect(desk.givenBack == [runs[0]], "it has begun")
  }
}
