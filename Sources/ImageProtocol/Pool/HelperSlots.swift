/// The turns of a pool: as many as it has helpers, given out in the order they are asked for.
struct HelperSlots {
  enum Grant {
    case granted
    case refused
    /// Call ``wait(_:_:)`` with this ticket, without giving up isolation in between.
    case wait(UInt64)
  }

  typealias Continuation = CheckedContinuation<Result<Void, ImageError>, Never>

  private var free: Int
  private var waiting: [(ticket: UInt64, continuation: Continuation)] = []
  private var lastTicket: UInt64 = 0
  private(set) var isClosed = false

  init(count: Int) {
    free = count
  }

  mutating func request() -> Grant {
    if isClosed { return .refused }
    if free > 0 {
      free -= 1
      return .granted
    }
    lastTicket += 1
    return .wait(lastTicket)
  }

  mutating func wait(_ ticket: UInt64, _ continuation: Continuation) {
    waiting.append((ticket, continuation))
  }

  /// Passes the turn on to the one who has waited longest.
  mutating func giveBack() {
    if waiting.isEmpty {
      free += 1
    } else {
      waiting.removeFirst().continuation.resume(returning: .success(()))
    }
  }

  /// Ends one wait with an error; does nothing if it has ended.
  mutating func abandon(_ ticket: UInt64, _ error: ImageError) {
    guard let index = waiting.firstIndex(where: { $0.ticket == ticket }) else { return }
    waiting.remove(at: index).continuation.resume(returning: .failure(error))
  }

  /// Ends all waits with an error and gives out no more turns.
  mutating func close() {
    isClosed = true
    for (_, continuation) in waiting { continuation.resume(returning: .failure(.poolIsShutDown)) }
    waiting = []
  }
}
