import Fleet
import Synchronization

/// An order without a number, and who is called back with the lead's answer.
typealias NewOrder = (order: Order, answer: @Sendable (Result<OrderAnswer.Content, any Error>) -> Void)

/// The waits of this host for the lead's answers to its orders, which are known by numbers.
final class AnswerWaits: Sendable {
  private struct State {
    var lastTicket: Int64 = 0
    /// The orders whose answers were not taken yet, also those for which nobody waits any more.
    var unanswered: Set<Int64> = []
    var waiting: [Int64: @Sendable (Result<OrderAnswer.Content, any Error>) -> Void] = [:]
  }

  private let state = Mutex(State())

  /// The lowest number of an order whose answer was not taken yet.
  var first: Int64? { state.withLock { $0.unanswered.min() } }

  /// Gives orders their numbers, and begins to wait for the answers.
  func number(_ orders: [NewOrder]) -> [NumberedOrder] {
    state.withLock { state in
      orders.map { order, answer in
        state.lastTicket += 1
        state.unanswered.insert(state.lastTicket)
        state.waiting[state.lastTicket] = answer
        return NumberedOrder(order, ticket: state.lastTicket)
      }
    }
  }

  /// Calls back nobody any more; the answer is still taken.
  func abandon(_ ticket: Int64) { state.withLock { _ = $0.waiting.removeValue(forKey: ticket) } }

  /// Forgets an order that was not put on record.
  func forget(_ ticket: Int64) { _ = drop(ticket) }

  /// Calls back with the reason why an order was not put on record.
  func refuse(_ ticket: Int64, because error: any Error) { drop(ticket)?(.failure(error)) }

  /// Calls back with answers; those for which nobody waits any more are dropped.
  func take(_ answers: [Int64: OrderAnswer.Content]) {
    let waiting = state.withLock { state in
      state.unanswered.subtract(answers.keys)
      return answers.map { (state.waiting.removeValue(forKey: $0), $1) }
    }
    for (answer, content) in waiting { answer?(.success(content)) }
  }

  private func drop(_ ticket: Int64) -> (@Sendable (Result<OrderAnswer.Content, any Error>) -> Void)? {
    state.withLock { state in
      state.unanswered.remove(ticket)
      return state.waiting.removeValue(forKey: ticket)
    }
  }
}
