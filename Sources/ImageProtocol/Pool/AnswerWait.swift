internal import Dispatch
internal import Synchronization
internal import SystemSupport

/// One wait for a helper's answer, ended by whichever comes first: the answer, the helper's end, the deadline, a cancel.
final class AnswerWait: Sendable {
  enum Outcome: Sendable {
    /// The socket has a message, or its other end is closed.
    case readable
    case timedOut
    case cancelled
  }

  // Dispatch sources may be used from any thread, which their protocols do not say.
  private struct Waiting: @unchecked Sendable {
    let continuation: CheckedContinuation<Outcome, Never>
    let reading: ReadinessThread.Wait?
    let timer: any DispatchSourceTimer

    func end(_ outcome: Outcome) {
      if let reading { _ = ReadinessThread.shared.cancel(reading) }
      timer.cancel()
      continuation.resume(returning: outcome)
    }
  }

  private enum State {
    case open
    case waiting(Waiting)
    case ended(Outcome)
  }

  private static let queue = DispatchQueue(label: "bobbin.image-answers")
  private let state = Mutex(State.open)

  /// Waits; used once.
  func outcome(of helper: ImageHelper, by deadline: Deadline) async -> Outcome {
    await withTaskCancellationHandler {
      await withCheckedContinuation { start($0, helper: helper, deadline: deadline) }
    } onCancel: {
      end(.cancelled)
    }
  }

  private func start(_ continuation: CheckedContinuation<Outcome, Never>, helper: ImageHelper, deadline: Deadline) {
    var reading: ReadinessThread.Wait?
    do throws(SystemError) {
      // Keeps the socket open as long as its number is waited for.
      reading = try ReadinessThread.shared.whenReadable(helper.socketNumber) {
        withExtendedLifetime(helper) { self.end(.readable) }
      }
    } catch {
      // What can't be waited for is as good as a helper that does not answer.
      end(.timedOut)
    }
    let timer = DispatchSource.makeTimerSource(queue: Self.queue)
    timer.setEventHandler { self.end(.timedOut) }
    timer.schedule(deadline: deadline.dispatchTime)
    let waiting = Waiting(continuation: continuation, reading: reading, timer: timer)
    timer.activate()
    let early = state.withLock { state -> Outcome? in
      if case .ended(let outcome) = state { return outcome }
      state = .waiting(waiting)
      return nil
    }
    if let early { waiting.end(early) }
  }

  private func end(_ outcome: Outcome) {
    let waiting = state.withLock { state -> Waiting? in
      switch state {
      case .open:
        state = .ended(outcome)
        return nil
      case .waiting(let waiting):
        state = .ended(outcome)
        return waiting
      case .ended:
        return nil
      }
    }
    waiting?.end(outcome)
  }
}
