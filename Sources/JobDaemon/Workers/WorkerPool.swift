import Configuration
import Dispatch
import JobSchedule
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport

/// The workers, and the replacement of those whose handlers ignore cancellation.
final class WorkerPool: Sendable {
  private struct State {
    var tasks: [Int: Task<Void, Never>] = [:]
    var nextNumber = 1
    /// Attempts whose handlers still run though their end is recorded.
    var abandoned = 0
  }

  private let engine: JobEngine
  private let recorder: AttemptRecorder
  private let state = Mutex(State())

  init(_ engine: JobEngine, _ recorder: AttemptRecorder) {
    self.engine = engine
    self.recorder = recorder
  }

  /// The number of handlers that still run though their attempts have ended.
  var abandonedCount: Int { state.withLock { $0.abandoned } }

  /// True while a worker has not gone home.
  var isOccupied: Bool { state.withLock { !$0.tasks.isEmpty } }

  func start(count: Int) { for _ in 0..<count { startWorker() } }

  private func startWorker() {
    state.withLock { state in
      let number = state.nextNumber
      state.nextNumber += 1
      let worker = Worker(engine, recorder, number: number)
      // Started on the main thread, a task would ask for a higher priority than an unprivileged service may have.
      state.tasks[number] = Task(executorPreference: WorkQueues.tasks, priority: .medium) { [weak self] in
        let wasAbandoned = await worker.run()
        self?.end(number, wasAbandoned)
      }
    }
  }

  private func end(_ number: Int, _ wasAbandoned: Bool) {
    state.withLock { state in
      state.tasks[number] = nil
      if wasAbandoned { state.abandoned -= 1 }
    }
  }

  /// Handles the alarm of an attempt at its timeout: it is told to end, or, if it was told before, abandoned.
  func overdue(_ id: ManagedObjectID) {
    guard let job = engine.scheduler.running(id), let attempt = job.attempt else { return }
    let timeout = engine.policy.timeout(of: attempt.specification, attempt.handler) ?? .zero
    switch job.alarm(timeout: timeout, stopLimit: engine.stopLimit(of: job)) {
    case .nothing: break
    case .remind(let delay), .cancel(let delay): engine.scheduler.remind(of: job, after: delay)
    case .abandon: replaceWorker(of: job, attempt)
    }
  }

  /// Starts another worker, and records the end of an abandoned attempt.
  private func replaceWorker(of job: RunningJob, _ attempt: CurrentAttempt) {
    state.withLock { $0.abandoned += 1 }
    engine.jobLog.noteAbandonment(of: attempt)
    startWorker()
    let executor = ContextExecutor(label: "abandoned", tasks: WorkQueues.tasks)
    Task(executorPreference: WorkQueues.tasks, priority: .medium) { [recorder] in
      await recorder.record(.failure(CancellationError()), of: job, attempt, on: executor)
    }
  }

  /// Waits until the running jobs have finished; those that take longer, or lose nothing by it, are told to end, and run
  /// again at the next start. Handlers that do not end even then are not waited for.
  func finish(within limit: Duration) async {
    for job in engine.scheduler.allRunning where job.attempt?.goesOn == true { job.stop(.shutdown) }
    let tasks = state.withLock { Array($0.tasks.values) }
    let ended = DispatchGroup()
    for task in tasks {
      ended.enter()
      Task(executorPreference: WorkQueues.tasks, priority: .medium) {
        await task.value
        ended.leave()
      }
    }
    if await ended.wait(for: limit) { return }
    let running = engine.scheduler.allRunning
    for job in running { job.stop(.shutdown) }
    engine.flusher.endWaiting()
    let longest = running.map(engine.stopLimit).max() ?? .zero
    if await ended.wait(for: longest) { return }
    // Their changes are dropped from here on.
    for job in engine.scheduler.allRunning where job.abandon() {
      if let attempt = job.attempt { engine.jobLog.noteInterruption(of: attempt, at: engine.date, isAbandoned: true) }
    }
  }
}

extension DispatchGroup {
  /// Waits until the group is empty; false if that takes too long.
  fileprivate func wait(for limit: Duration) async -> Bool {
    await withCheckedContinuation { continuation in
      DispatchQueue(label: "shutdown").async {
        let deadline = DispatchTime.now() + .milliseconds(Int(clamping: limit.milliseconds))
        continuation.resume(returning: self.wait(timeout: deadline) == .success)
      }
    }
  }
}
