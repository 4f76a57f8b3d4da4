import Dispatch
import Glibc
import Synchronization

extension ChildProcess {
  /// Waits for the child to end; any number of tasks may wait, before or after its end.
  ///
  /// - Parameter deadline: When to give up; the child keeps running.
  /// - Throws: ``SystemError/Code/timedOut`` at the deadline, `CancellationError` when the task is cancelled.
  package func termination(by deadline: Deadline = .never) async throws -> Termination {
    let id = lastWaiter.wrappingAdd(1, ordering: .relaxed).newValue
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        register(continuation, id: id, deadline: deadline)
        // A cancellation before the registration found nobody to wake.
        if Task.isCancelled { abandon(id, CancellationError()) }
      }
    } onCancel: {
      abandon(id, CancellationError())
    }
  }

  /// Waits for the child to end, and kills it with its process group when the deadline comes first.
  ///
  /// - Parameters:
  ///   - deadline: When to kill it.
  ///   - grace: How long it has between SIGTERM and SIGKILL; zero sends SIGKILL at once.
  /// - Returns: How it ended, and whether it had to be killed.
  /// - Throws: `CancellationError` when the task is cancelled; the child keeps running.
  package func termination(
    killingAt deadline: Deadline, grace: Duration = .zero
  ) async throws -> (termination: Termination, wasKilled: Bool) {
    do {
      return (try await termination(by: deadline), false)
    } catch let error as SystemError where error.code == .timedOut {
      return (try await stop(grace: grace), true)
    }
  }

  /// Terminates the child and its process group, with SIGTERM first, and waits for it.
  ///
  /// - Parameter grace: How long it has between SIGTERM and SIGKILL; zero sends SIGKILL at once.
  /// - Throws: ``SystemError/Code/timedOut`` when the kernel can't kill it within ten seconds, as in a hung disk read.
  package func stop(grace: Duration) async throws -> Termination {
    if grace > .zero {
      try killGroup(SIGTERM)
      do {
        return try await termination(by: .after(grace))
      } catch let error as SystemError where error.code == .timedOut {}
    }
    try killGroup(SIGKILL)
    return try await termination(by: .after(.seconds(10)))
  }

  private func register(
    _ continuation: CheckedContinuation<Termination, any Error>, id: UInt64, deadline: Deadline
  ) {
    let ended = state.withLock { state -> Result<Termination, SystemError>? in
      switch state {
      case .ended(let result):
        return result
      case .running(var waiters):
        waiters[id] = Waiter(continuation: continuation, timer: makeTimer(id: id, deadline: deadline))
        state = .running(waiters: waiters)
        return nil
      }
    }
    if let ended { continuation.resume(with: ended) }
  }

  private func makeTimer(id: UInt64, deadline: Deadline) -> (any DispatchSourceTimer)? {
    guard deadline != .never else { return nil }
    let timer = DispatchSource.makeTimerSource(queue: Self.queue)
    timer.setEventHandler { [weak self] in
      guard let self else { return }
      abandon(id, SystemError(.timedOut, call: "wait", subject: launch.executable))
    }
    timer.schedule(deadline: deadline.dispatchTime)
    timer.activate()
    return timer
  }

  /// Resumes one waiter with an error; does nothing when it has been resumed.
  private func abandon(_ id: UInt64, _ error: any Error) {
    let waiter = state.withLock { state -> Waiter? in
      guard case .running(var waiters) = state else { return nil }
      let waiter = waiters.removeValue(forKey: id)
      state = .running(waiters: waiters)
      return waiter
    }
    waiter?.timer?.cancel()
    waiter?.continuation.resume(throwing: error)
  }

  /// Resumes a waiter with the outcome; called once for each after the child has ended.
  func deliver(to waiter: Waiter) {
    let outcome = state.withLock { state -> Result<Termination, SystemError>? in
      if case .ended(let outcome) = state { outcome } else { nil }
    }
    guard let outcome else { preconditionFailure("nothing to deliver while the child runs") }
    waiter.timer?.cancel()
    waiter.continuation.resume(with: outcome)
  }
}
