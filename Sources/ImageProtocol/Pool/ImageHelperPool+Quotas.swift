internal import Dispatch
internal import SystemSupport

extension ImageHelperPool {
  private static let timerQueue = DispatchQueue(label: "deadlines of pictures")

  /// Waits for an amount, in the order of those who ask; the caller gives it back.
  ///
  /// - Parameters:
  ///   - tooLate: What to throw if the deadline comes first.
  ///   - onWait: Is told when the wait begins and when it is over; not called if there is none.
  func take(
    _ amount: Int, of quota: Quota, by deadline: Deadline, tooLate: ImageError, onWait: (Bool) -> Void
  ) async throws(ImageError) {
    let ticket: UInt64
    switch quota.request(amount) {
    case .granted: return
    case .refused: throw .poolIsShutDown
    case .wait(let number): ticket = number
    }
    onWait(true)
    defer { onWait(false) }
    let timer = DispatchSource.makeTimerSource(queue: Self.timerQueue)
    timer.setEventHandler { @Sendable in quota.abandon(ticket, tooLate) }
    timer.schedule(deadline: deadline.dispatchTime)
    timer.activate()
    defer { timer.cancel() }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { quota.wait(ticket, $0) }
    } onCancel: {
      quota.abandon(ticket, ImageError(.cancelled, "the job was cancelled", permanent: false))
    }
    try result.get()
  }
}
