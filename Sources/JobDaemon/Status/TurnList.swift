import HTTPService

/// Whose turn it is: a few at a time have theirs, and few of one account; among those who wait, whoever's account has the
/// fewest is next.
struct TurnList<Element> {
  /// A place in the list, until its turn has come.
  typealias Ticket = UInt64

  private struct Waiting {
    let ticket: Ticket
    let account: HTTPClient.Account
    let element: Element
  }

  private let total: Int
  private let perAccount: Int
  private var waiting: [Waiting] = []
  private var lastTicket: Ticket = 0
  private var taken = 0
  private var takenByAccount: [HTTPClient.Account: Int] = [:]

  /// - Parameters:
  ///   - total: how many have their turn at a time.
  ///   - perAccount: how many of one account.
  init(total: Int, perAccount: Int) { (self.total, self.perAccount) = (total, perAccount) }

  /// True if nobody has a turn or waits for one.
  var isEmpty: Bool { taken == 0 && waiting.isEmpty }

  /// Has somebody wait, who is told of by ``next()``.
  mutating func add(_ element: Element, of account: HTTPClient.Account) -> Ticket {
    lastTicket += 1
    waiting.append(Waiting(ticket: lastTicket, account: account, element: element))
    return lastTicket
  }

  /// Returns somebody whose turn it is now, until ``end(of:)``.
  ///
  /// Cost: a look at each who waits.
  mutating func next() -> (account: HTTPClient.Account, element: Element)? {
    guard taken < total else { return nil }
    var best: (index: Int, taken: Int)?
    for (index, one) in waiting.enumerated() {
      let count = takenByAccount[one.account, default: 0]
      if count < min(perAccount, best?.taken ?? .max) { best = (index, count) }
      if best?.taken == 0 { break }
    }
    guard let best else { return nil }
    let next = waiting.remove(at: best.index)
    taken += 1
    takenByAccount[next.account] = best.taken + 1
    return (next.account, next.element)
  }

  /// Ends a turn of an account.
  mutating func end(of account: HTTPClient.Account) {
    taken -= 1
    let count = (takenByAccount[account] ?? 1) - 1
    takenByAccount[account] = count > 0 ? count : nil
  }

  /// Forgets somebody who does not wait any more; returns nil if the turn has come already.
  mutating func drop(_ ticket: Ticket) -> Element? {
    waiting.firstIndex { $0.ticket == ticket }.map { waiting.remove(at: $0).element }
  }
}
