internal import Dispatch
internal import SystemSupport

extension ImageHelperPool {
  /// Waits until there is so much of a quota, and takes it.
  ///
  /// - Parameters:
  ///   - tooLate: what is thrown at the deadline.
  ///   - onWait: is called with true before there is something to wait for, and with false afterwards.
  func take(
    _ amount: Int, of quota: Quota, by deadline: Deadline, tooLate: ImageError, onWait: (Bool) -> Void
  ) async throws(ImageError) {
    switch quota.request(amount) {
    case .granted: return
    case .refused: throw .poolIsShutDown
    case .wait: break
    }
    onWait(true)
    defer { onWait(false) }
    lastTicket += 1
    let ticket = lastTicket
    let timer = DispatchSource.makeTimerSource()
    timer.setEventHandler { @Sendable in Task { await self.abandon(ticket, tooLate) } }
    timer.schedule(deadline: deadline.dispatchTime)
    timer.activate()
    defer { timer.cancel() }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { quota.wait(ticket, for: amount, $0) }
    } onCancel: {
      Task { await self.abandon(ticket, ImageError(.cancelled, "the job was cancelled", permanent: false)) }
    }
    try result.get()
  }

  private func abandon(_ ticket: UInt64, _ error: ImageError) {
    slots.abandon(ticket, error)
    memory.abandon(ticket, error)
  }
}
