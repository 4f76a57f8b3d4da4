import Dispatch
import Synchronization
import SystemSupport
import TestSupport
import Testing

@Suite("Coalesced work")
struct CoalescerTests {
  private let queue = DispatchQueue(label: "coalescer test")

  @Test("Requests that come before the work begins share it; one that comes later gets its own")
  func shared() {
    let runs = Mutex(0)
    let coalescer = Coalescer(queue: queue)
    let request: @Sendable () -> Void = { coalescer.request { runs.withLock { $0 += 1 } } }
    queue.sync { for _ in 0..<5 { request() } }
    queue.sync {}
    #expect(runs.withLock { $0 } == 1)
    request()
    queue.sync {}
    #expect(runs.withLock { $0 } == 2)
  }

  @Test("A request from the work itself is followed by another run")
  func again() {
    let runs = Mutex(0)
    let coalescer = Coalescer(queue: queue)
    coalescer.request {
      runs.withLock { $0 += 1 }
      coalescer.request { runs.withLock { $0 += 1 } }
    }
    queue.sync {}
    queue.sync {}
    #expect(runs.withLock { $0 } == 2)
  }

  @Test("Work that is queued when it is stopped does not run, nor what is requested later")
  func stopped() {
    let runs = Mutex(0)
    let coalescer = Coalescer(queue: queue)
    let isBlocked = DispatchSemaphore(value: 0)
    queue.async { #expect(isBlocked.wait(timeout: .now() + 60) == .success) }
    coalescer.request { runs.withLock { $0 += 1 } }
    coalescer.close()
    coalescer.request { runs.withLock { $0 += 1 } }
    isBlocked.signal()
    coalescer.stop()
    #expect(runs.withLock { $0 } == 0)
  }

  @Test("Tasks run one at a time, and once more for whatever was requested meanwhile")
  func tasks() async throws {
    let coalescer = TaskCoalescer()
    let (starts, start) = AsyncStream<Int>.makeStream()
    let (releases, release) = AsyncStream<Void>.makeStream()
    let state = Mutex((running: 0, runs: 0))
    let request: @Sendable () -> Void = {
      coalescer.request {
        let run = state.withLock { state in
          state.running += 1
          state.runs += 1
          #expect(state.running == 1)
          return state.runs
        }
        start.yield(run)
        for await _ in releases { break }
        state.withLock { $0.running -= 1 }
      }
    }
    request()
    try await withTimeout {
      var started = starts.makeAsyncIterator()
      #expect(await started.next() == 1)
      for _ in 0..<3 { request() }
      release.yield()
      #expect(await started.next() == 2)
      coalescer.stop()
      request()
      #expect(coalescer.isStopped)
      release.yield()
    }
    #expect(state.withLock { $0.runs } == 2)
  }
}
