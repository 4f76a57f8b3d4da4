/// So much of something that jobs share: given out in the order it is asked for, and given back.
final class Quota {
  enum Grant {
    case granted
    case refused
    /// Call ``wait(_:_:_:)``, without giving up isolation in between.
    case wait
  }

  typealias Continuation = CheckedContinuation<Result<Void, ImageError>, Never>

  private var free: Int
  private var waiting: [(ticket: UInt64, amount: Int, continuation: Continuation)] = []
  private(set) var isClosed = false

  init(_ amount: Int) {
    free = amount
  }

  func request(_ amount: Int) -> Grant {
    if isClosed { return .refused }
    // Those who wait for much must not starve behind those who want little.
    guard waiting.isEmpty, amount <= free else { return .wait }
    free -= amount
    return .granted
  }

  /// Takes an amount if there is so much, and nobody waits.
  func takeNow(_ amount: Int) -> Bool {
    if case .granted = request(amount) { true } else { false }
  }

  func wait(_ ticket: UInt64, for amount: Int, _ continuation: Continuation) {
    waiting.append((ticket, amount, continuation))
  }

  /// Passes on what has become free to those who have waited longest.
  func giveBack(_ amount: Int) {
    free += amount
    grant()
  }

  private func grant() {
    while let first = waiting.first, first.amount <= free {
      free -= first.amount
      waiting.removeFirst().continuation.resume(returning: .success(()))
    }
  }

  /// Ends one wait with an error; does nothing if it has ended.
  func abandon(_ ticket: UInt64, _ error: ImageError) {
    guard let index = waiting.firstIndex(where: { $0.ticket == ticket }) else { return }
    waiting.remove(at: index).continuation.resume(returning: .failure(error))
    grant()
  }

  /// Ends all waits with an error and gives out no more.
  func close() {
    isClosed = true
    for waiting in waiting { waiting.continuation.resume(returning: .failure(.poolIsShutDown)) }
    waiting = []
  }
}
