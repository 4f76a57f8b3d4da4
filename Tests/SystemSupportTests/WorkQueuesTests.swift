import Dispatch
import Synchronization
import Testing

@testable import SystemSupport

@Suite("Queues for work that has none of its own")
struct WorkQueuesTests {
  private static func isOver(_ group: DispatchGroup) -> Bool { group.wait(timeout: .now() + 30) == .success }

  @Test("What comes while one of two queues is blocked runs on the other, all of it and in order")
  func blockedQueue() {
    let queues = WorkQueues(label: "test", count: 2)
    let gate = DispatchSemaphore(value: 0)
    let blocked = DispatchGroup()
    blocked.enter()
    queues.async {
      gate.wait()
      blocked.leave()
    }
    let ran = Mutex<[Int]>([])
    let others = DispatchGroup()
    // More than are kept in one piece.
    for number in 0..<3_000 {
      others.enter()
      queues.async {
        ran.withLock { $0.append(number) }
        others.leave()
      }
    }
    #expect(Self.isOver(others))
    #expect(ran.withLock { $0 } == Array(0..<3_000))
    gate.signal()
    #expect(Self.isOver(blocked))
  }

  @Test("No more pieces of work run at a time than there are queues, and as many do")
  func count() {
    let queues = WorkQueues(label: "test", count: 3)
    let counts = Mutex((running: 0, most: 0))
    let allRun = DispatchSemaphore(value: 0)
    let group = DispatchGroup()
    for number in 0..<300 {
      group.enter()
      queues.async {
        let running = counts.withLock { counts in
          counts.running += 1
          counts.most = max(counts.most, counts.running)
          return counts.running
        }
        // The first ones wait for each other.
        if running == 3, number < 3 { for _ in 0..<3 { allRun.signal() } }
        if number < 3 { #expect(allRun.wait(timeout: .now() + 30) == .success) }
        counts.withLock { $0.running -= 1 }
        group.leave()
      }
    }
    #expect(Self.isOver(group))
    #expect(counts.withLock { $0.most } == 3)
  }

  @Test("What a piece of work holds is released when it is over, though others wait")
  func release() {
    final class Held: Sendable {
      let released: DispatchSemaphore
      init(_ released: DispatchSemaphore) { self.released = released }
      deinit { released.signal() }
    }
    let queues = WorkQueues(label: "test", count: 1)
    let (released, group) = (DispatchSemaphore(value: 0), DispatchGroup())
    group.enter()
    do {
      let held = Held(released)
      queues.async { withExtendedLifetime(held) {} }
    }
    queues.async {
      #expect(released.wait(timeout: .now() + 30) == .success)
      group.leave()
    }
    #expect(Self.isOver(group))
  }

  @Test("Tasks that prefer them go on there")
  func tasks() async {
    let queues = WorkQueues(label: "test", count: 2)
    let sum = await Task(executorPreference: queues) {
      await withTaskGroup(of: Int.self) { group in
        for number in 1...1_000 { group.addTask { number } }
        return await group.reduce(0, +)
      }
    }.value
    #expect(sum == 500_500)
  }
}
