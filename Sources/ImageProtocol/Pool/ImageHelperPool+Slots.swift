internal import Dispatch
internal import SystemSupport

extension ImageHelperPool {
  /// Waits for its turn to use a helper.
  func takeSlot(by deadline: Deadline) async throws(ImageError) {
    let ticket: UInt64
    switch slots.request() {
    case .granted: return
    case .refused: throw .poolIsShutDown
    case .wait(let number): ticket = number
    }
    let timer = DispatchSource.makeTimerSource()
    timer.setEventHandler { @Sendable in Task { await self.abandon(ticket, .waitedTooLong) } }
    timer.schedule(deadline: deadline.dispatchTime)
    timer.activate()
    defer { timer.cancel() }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { slots.wait(ticket, $0) }
    } onCancel: {
      Task { await self.abandon(ticket, ImageError(.cancelled, "the job was cancelled", permanent: false)) }
    }
    try result.get()
  }

  private func abandon(_ ticket: UInt64, _ error: ImageError) {
    slots.abandon(ticket, error)
  }
}
