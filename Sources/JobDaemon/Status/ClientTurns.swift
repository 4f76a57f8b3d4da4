import HTTPService
import Synchronization
import SystemSupport

/// Turns of clients for what costs: long replies, until they are received, and copies of large inputs.
///
/// So the memory of replies is bounded by their size, not by how many are asked for and never read. Clients that wait for
/// their turn cost a connection; those that go meanwhile get none.
final class ClientTurns: Sendable {
  /// Replies of more bytes keep their turn until the client has them.
  static let smallReply = 64 << 10

  private struct Request: Sendable {
    let responder: HTTPResponder
    let start: @Sendable (Turn) -> Void
  }

  private struct State {
    var list: TurnList<Request>
    var sawLongReply = false
  }

  private let state: Mutex<State>

  init(total: Int, perUser: Int) { state = Mutex(State(list: TurnList(total: total, perAccount: perUser))) }

  /// Calls `start` when it is the client's turn, at once if it can be, unless the client has gone by then.
  func acquire(for account: HTTPClient.Account, _ responder: HTTPResponder, _ start: @escaping @Sendable (Turn) -> Void)
  {
    let ticket = state.withLock { $0.list.add(Request(responder: responder, start: start), of: account) }
    startNext()
    responder.whenOver { [self] in
      // What the request holds, open files say, is given up outside of the lock.
      let dropped = state.withLock { $0.list.drop(ticket) }
      withExtendedLifetime(dropped) {}
    }
  }

  private func startNext() {
    while let (account, request) = state.withLock({ $0.list.next() }) {
      let turn = Turn(request.responder) { [self] isLong in returnTurn(of: account, isLong) }
      if request.responder.isWaiting { request.start(turn) } else { turn.end(isLong: false) }
    }
  }

  private func returnTurn(of account: HTTPClient.Account, _ isLong: Bool) {
    let isCalm = state.withLock { state in
      state.list.end(of: account)
      if isLong { state.sawLongReply = true }
      guard state.list.isEmpty, state.sawLongReply else { return false }
      state.sawLongReply = false
      return true
    }
    // The memory of long replies would stay with the allocator's many arenas.
    if isCalm { WorkQueues.tasks.async { ProcessMemory.returnUnused() } }
    startNext()
  }

  /// One turn; it lasts until the client has its reply, or until that turns out short.
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
      let isLong = response.source != nil || response.body.count > ClientTurns.smallReply
      _ = responder.respond(response)
      if isLong { responder.whenOver { self.end(isLong: true) } } else { end(isLong: false) }
    }

    fileprivate func end(isLong: Bool) { end.withLock { $0.take() }?(isLong) }
  }
}
