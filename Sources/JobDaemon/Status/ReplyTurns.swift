import HTTPService
import Synchronization
import SystemSupport

/// Turns for long replies: a few clients at a time, and few of one user, until they have received them.
///
/// So the memory of replies is bounded by their size, not by how many are asked for and never read. Clients that wait
/// for their turn cost a connection; those that have gone meanwhile get none.
final class ReplyTurns: Sendable {
  /// Replies of more bytes keep their turn until the client has them.
  static let smallReply = 64 << 10

  private struct Request: Sendable {
    let account: HTTPClient.Account
    let responder: HTTPResponder
    let start: @Sendable (Turn) -> Void
  }

  private struct State {
    var taken = 0
    var takenByAccount: [HTTPClient.Account: Int] = [:]
    var waiting: [Request] = []
    var sawLongReply = false
  }

  private let total: Int
  private let perUser: Int
  private let state = Mutex(State())

  init(total: Int, perUser: Int) {
    (self.total, self.perUser) = (total, perUser)
  }

  /// Calls `start` when it is the client's turn, at once if it can be, unless the client has gone by then.
  func acquire(for account: HTTPClient.Account, _ responder: HTTPResponder, _ start: @escaping @Sendable (Turn) -> Void)
  {
    state.withLock { $0.waiting.append(Request(account: account, responder: responder, start: start)) }
    startNext()
  }

  private func startNext() {
    while let request = popNext() {
      let turn = Turn(request.responder) { [self] isLong in returnTurn(request.account, isLong) }
      if request.responder.isWaiting { request.start(turn) } else { turn.end(isLong: false) }
    }
  }

  private func popNext() -> Request? {
    state.withLock { state in
      guard state.taken < total,
        let index = state.waiting.firstIndex(where: { state.takenByAccount[$0.account, default: 0] < perUser })
      else { return nil }
      let request = state.waiting.remove(at: index)
      state.taken += 1
      state.takenByAccount[request.account, default: 0] += 1
      return request
    }
  }

  private func returnTurn(_ account: HTTPClient.Account, _ isLong: Bool) {
    let isCalm = state.withLock { state in
      state.taken -= 1
      let count = (state.takenByAccount[account] ?? 1) - 1
      state.takenByAccount[account] = count > 0 ? count : nil
      if isLong { state.sawLongReply = true }
      guard state.taken == 0, state.waiting.isEmpty, state.sawLongReply else { return false }
      state.sawLongReply = false
      return true
    }
    // The memory of long replies would stay with the allocator's many arenas.
    if isCalm { WorkQueues.tasks.async { ProcessMemory.returnUnused() } }
    startNext()
  }

  /// The right to make one reply; it lasts until the client has the reply, or the reply turns out short.
  final class Turn: Sendable {
    let responder: HTTPResponder
    private let end: Mutex<(@Sendable (_ isLong: Bool) -> Void)?>

    fileprivate init(_ responder: HTTPResponder, _ end: @escaping @Sendable (_ isLong: Bool) -> Void) {
      self.responder = responder
      self.end = Mutex(end)
    }

    /// Dropped without a reply.
    deinit { end(isLong: false) }

    /// True if the client still waits for the reply.
    var isWanted: Bool { responder.isWaiting }

    func respond(_ response: HTTPResponse) {
      let isLong = response.source != nil || response.body.count > ReplyTurns.smallReply
      _ = responder.respond(response)
      if isLong { responder.whenOver { self.end(isLong: true) } } else { end(isLong: false) }
    }

    fileprivate func end(isLong: Bool) { end.withLock { $0.take() }?(isLong) }
  }
}
