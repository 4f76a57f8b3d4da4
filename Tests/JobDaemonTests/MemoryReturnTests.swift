import Synchronization
import TestSupport
import Testing

@testable import JobDaemon

@Suite("Memory that an idle daemon gives back")
struct MemoryReturnTests {
  @Test("It is given back once after the last of many pieces of work, and again after the next")
  func calm() async throws {
    let (returns, given) = AsyncStream.makeStream(of: ContinuousClock.Instant.self)
    let memory = MemoryReturn(calm: .milliseconds(100), isIdle: { true }, giveBack: { given.yield(.now) })
    try await withTimeout {
      var seen = returns.makeAsyncIterator()
      let start = ContinuousClock.now
      while start.duration(to: .now) < .milliseconds(150) { memory.noteWork() }
      for _ in 0..<2 {
        let last = ContinuousClock.now
        memory.noteWork()
        var time = try #require(await seen.next())
        // Work that paused for so long had some given back before.
        while time < last { time = try #require(await seen.next()) }
        #expect(last.duration(to: time) > .milliseconds(90))
      }
    }
  }

  @Test("It is not given back while something is at work, but once that is over")
  func working() async throws {
    let isWorking = Mutex(true)
    let (looks, look) = AsyncStream.makeStream(of: Void.self)
    let (returns, given) = AsyncStream.makeStream(of: Bool.self)
    let memory = MemoryReturn(
      calm: .milliseconds(20),
      isIdle: {
        defer { look.yield() }
        return !isWorking.withLock { $0 }
      }, giveBack: { given.yield(isWorking.withLock { $0 }) })
    memory.noteWork()
    try await withTimeout {
      for await _ in looks { break }
    }
    isWorking.withLock { $0 = false }
    memory.noteWork()
    try await withTimeout {
      var seen = returns.makeAsyncIterator()
      #expect(await seen.next() == false)
    }
  }
}
