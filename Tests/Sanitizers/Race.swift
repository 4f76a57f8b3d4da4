// Proves that the thread sanitizer works here: run with "race" it must report one, without it must report nothing.
import Foundation
import Synchronization

/// Counts under a lock that threads wait for, and beside it.
final class Counter: Sendable {
  let guarded = Mutex(0)
  // What is wrong if several threads write it, which is what the sanitizer has to find.
  nonisolated(unsafe) var bare = 0
}

let counter = Counter()
let races = CommandLine.arguments.contains("race")
let (ready, go, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
for _ in 0..<4 {
  Thread.detachNewThread {
    ready.signal()
    go.wait()
    // After what started the threads, and before the lock: nothing orders these four.
    if races { counter.bare += 1 }
    for _ in 0..<20_000 { counter.guarded.withLock { $0 += 1 } }
    ended.signal()
  }
}
for _ in 0..<4 { ready.wait() }
for _ in 0..<4 { go.signal() }
for _ in 0..<4 { ended.wait() }
print(counter.guarded.withLock { $0 })
