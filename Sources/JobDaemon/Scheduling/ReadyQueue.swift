import Synchronization

/// The jobs that are ready to run, higher priority first, then earlier arrival; workers wait here for the next.
final class ReadyQueue: Sendable {
  fileprivate struct State {
    /// A binary heap: each element comes before its two children.
    var heap: [LiveJob] = []
    var waiting: [CheckedContinuation<LiveJob?, Never>] = []
    var isClosed = false
  }

  private let state = Mutex(State())

  var count: Int { state.withLock { $0.heap.count } }

  /// Adds jobs and wakes as many workers.
  func add(_ jobs: [LiveJob]) {
    let woken = state.withLock { state in
      if state.isClosed { return [] as [(CheckedContinuation<LiveJob?, Never>, LiveJob)] }
      for job in jobs { state.push(job) }
      var woken: [(CheckedContinuation<LiveJob?, Never>, LiveJob)] = []
      while let worker = state.waiting.last, let job = state.pop() {
        state.waiting.removeLast()
        woken.append((worker, job))
      }
      return woken
    }
    for (worker, job) in woken { worker.resume(returning: job) }
  }

  /// The next job; waits for one, and returns nil when the queue is closed. Stays on the caller's executor.
  func next(isolation: isolated (any Actor)? = #isolation) async -> LiveJob? {
    await withCheckedContinuation { continuation in
      let (job, mustWait): (LiveJob?, Bool) = state.withLock { state in
        if state.isClosed { return (nil, false) }
        if let job = state.pop() { return (job, false) }
        state.waiting.append(continuation)
        return (nil, true)
      }
      if !mustWait { continuation.resume(returning: job) }
    }
  }

  /// Lets go of all workers and jobs; what was not started stays in the spool.
  func close() {
    let waiting = state.withLock { state in
      state.isClosed = true
      state.heap = []
      defer { state.waiting = [] }
      return state.waiting
    }
    for worker in waiting { worker.resume(returning: nil) }
  }
}

extension ReadyQueue.State {
  fileprivate mutating func push(_ job: LiveJob) {
    heap.append(job)
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard heap[child].comesBefore(heap[parent]) else { return }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  fileprivate mutating func pop() -> LiveJob? {
    guard let first = heap.first else { return nil }
    let last = heap.removeLast()
    if heap.isEmpty { return first }
    heap[0] = last
    var parent = 0
    while true {
      var next = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
        if heap[child].comesBefore(heap[next]) { next = child }
      }
      if next == parent { return first }
      heap.swapAt(parent, next)
      parent = next
    }
  }
}

extension LiveJob {
  fileprivate func comesBefore(_ other: LiveJob) -> Bool {
    let mine = specification.priority
    let theirs = other.specification.priority
    return mine == theirs ? sequence < other.sequence : mine > theirs
  }
}
