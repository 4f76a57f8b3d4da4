import Dispatch
import JobSchedule
import Jobs
import ObjectGraph
import TestSupport
import Testing

@testable import JobDaemon

@Suite("The flusher")
struct FlusherTests {
  /// The next events of a fixture.
  private func events(_ fixture: WriterFixture, _ count: Int) async throws -> [WriterFixture.Event] {
    try await withTimeout {
      var seen: [WriterFixture.Event] = []
      for await event in fixture.events {
        seen.append(event)
        if seen.count == count { break }
      }
      return seen
    }
  }

  @Test("Jobs are durable after the interval, together in one transaction")
  func interval() async throws {
    let fixture = try WriterFixture("FlushIntervalSec=2s")
    let jobs = try (0..<20).map { try fixture.finishedJob("j\($0)") }
    for job in jobs { fixture.merger.merge(finished: [job]) }
    let seen = try await events(fixture, 1)
    #expect(seen == [.durable(jobs.map(\.id))])
    #expect(fixture.store.saveCount == 1)
    #expect(try fixture.storedCount() == 20)
  }

  @Test("A job that somebody waits for is flushed at once")
  func awaited() async throws {
    let fixture = try WriterFixture("FlushIntervalSec=1h")
    let job = try fixture.finishedJob("j")
    let scheduler = Scheduler(agingStep: .seconds(60))
    scheduler.add([NewJob(id: job.objectID, file: nil, specification: JobSpecification(type: "noop"), name: "j")])
    fixture.waiters.add([job.objectID], to: scheduler) {}
    fixture.merger.merge(finished: [job])
    let seen = try await events(fixture, 1)
    #expect(seen == [.durable(["j"])])
  }

  @Test("The high-water mark flushes at once")
  func highWater() async throws {
    let fixture = try WriterFixture("FlushIntervalSec=1h\nHighWaterObjects=3")
    let jobs = try (0..<3).map { try fixture.finishedJob("j\($0)") }
    fixture.merger.merge(finished: jobs)
    let seen = try await events(fixture, 1)
    #expect(seen == [.durable(["j0", "j1", "j2"])])
  }

  @Test("The high-water mark of bytes flushes at once, too")
  func highWaterBytes() async throws {
    let fixture = try WriterFixture("FlushIntervalSec=1h\nHighWaterObjects=1000000\nHighWaterBytes=64K")
    let jobs = try (0..<400).map { try fixture.finishedJob("j\($0)" + String(repeating: "x", count: 400)) }
    fixture.merger.merge(finished: jobs)
    let seen = try await events(fixture, 1)
    #expect(seen == [.durable(jobs.map(\.id))])
  }

  @Test("A shorter interval holds at once for what waits already")
  func reconfigured() async throws {
    let fixture = try WriterFixture("FlushIntervalSec=1h")
    fixture.merger.merge(finished: [try fixture.finishedJob("j")])
    await fixture.merger.mergeAndWait()
    fixture.flusher.reconfigure(try WriterFixture.settings("FlushIntervalSec=1ms"))
    let seen = try await events(fixture, 1)
    #expect(seen == [.durable(["j"])])
  }

  @Test("A full disk is told, tried again, and recovered from without losing anything")
  func full() async throws {
    let fixture = try WriterFixture()
    fixture.store.fail(with: StoreError(.full, "no room"), StoreError(.full, "no room"), nil)
    fixture.merger.merge(finished: [try fixture.finishedJob("j")])
    let seen = try await events(fixture, 4)
    #expect(seen == [.storageFull, .storageFull, .recovered, .durable(["j"])])
    #expect(try fixture.storedCount() == 1)
    #expect(fixture.flusher.statistics.lastError == nil)
  }

  @Test("A flush that was asked for tells that it failed while the disk is full")
  func flushOnFull() async throws {
    let fixture = try WriterFixture("FlushIntervalSec=1h")
    fixture.merger.merge(finished: [try fixture.finishedJob("j")])
    await fixture.merger.mergeAndWait()
    fixture.store.fail(with: StoreError(.full, "no room"))
    let first = await fixture.flusher.flush()
    let second = await fixture.flusher.flush()
    #expect(!first && second)
    #expect(try fixture.storedCount() == 1)
  }

  @Test("A flush asked for while the disk is tried again is answered, though there is room this time")
  func flushDuringRetry() async throws {
    let fixture = try WriterFixture()
    fixture.store.fail(with: StoreError(.full, "no room"))
    let (tries, trying) = AsyncStream<Void>.makeStream()
    let mayGoOn = DispatchSemaphore(value: 0)
    fixture.store.beforeSaves(
      {},
      {
        trying.yield()
        mayGoOn.wait()
      })
    fixture.merger.merge(finished: [try fixture.finishedJob("j")])
    let first = try await events(fixture, 1)
    #expect(first == [.storageFull])
    try await withTimeout { for await _ in tries { break } }
    // Runs up to where it waits for the answer.
    let asked = Task.immediate { await fixture.flusher.flush() }
    mayGoOn.signal()
    let isFlushed = try await withTimeout { await asked.value }
    #expect(isFlushed)
  }

  @Test("Another failure is told once; nothing is acknowledged and nobody waits in vain from then on")
  func failure() async throws {
    let fixture = try WriterFixture()
    fixture.store.fail(with: StoreError(.inputOutput, "broken"))
    fixture.merger.merge(finished: [try fixture.finishedJob("j")])
    let seen = try await events(fixture, 1)
    #expect(seen == [.failed])
    fixture.merger.merge(finished: [try fixture.finishedJob("k")])
    let isFlushed = try await withTimeout { await fixture.flusher.flush() }
    #expect(!isFlushed)
    fixture.flusher.reconfigure(try WriterFixture.settings("FlushIntervalSec=1h\nHighWaterObjects=1"))
    try await withTimeout { await fixture.flusher.waitForRoom() }
    #expect(try fixture.storedCount() == 0)
  }

  @Test("Whoever waits for room goes on when there is some")
  func room() async throws {
    let fixture = try WriterFixture("FlushIntervalSec=1h\nHighWaterObjects=1000000")
    for number in 0..<4 { _ = try fixture.finishedJob("j\(number)") }
    await fixture.merger.mergeAndWait()
    fixture.flusher.reconfigure(try WriterFixture.settings("FlushIntervalSec=1h\nHighWaterObjects=1"))
    try await withTimeout { await fixture.flusher.waitForRoom() }
    #expect(fixture.flusher.statistics.unflushedObjects == 0)
  }
}
