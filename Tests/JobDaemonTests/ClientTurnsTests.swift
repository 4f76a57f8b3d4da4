import Synchronization
import TestSupport
import Testing

@testable import HTTPService
@testable import JobDaemon

@Suite("Turns of clients")
struct ClientTurnsTests {
  @Test("One user has no more than two of four turns, and others come first where that one has more than they")
  func fairness() {
    var list = TurnList<String>(total: 4, perAccount: 2)
    for number in 1...5 { _ = list.add("a\(number)", of: .user(1)) }
    #expect(Self.takeAll(&list) == ["a1", "a2"])
    for name in ["b1", "b2", "b3"] { _ = list.add(name, of: .user(2)) }
    _ = list.add("c1", of: .user(3))
    // One of each before the second of one.
    #expect(Self.takeAll(&list) == ["b1", "c1"])
    // Both have one; a3 has waited for longer.
    list.end(of: .user(1))
    #expect(Self.takeAll(&list) == ["a3"])
    list.end(of: .user(3))
    #expect(Self.takeAll(&list) == ["b2"])
  }

  @Test("Whoever is dropped gets no turn, and a turn that has begun can't be dropped")
  func dropping() {
    var list = TurnList<String>(total: 1, perAccount: 1)
    let first = list.add("first", of: .user(1))
    let second = list.add("second", of: .user(2))
    _ = list.add("third", of: .user(3))
    #expect(list.next()?.element == "first")
    #expect(list.next() == nil)
    #expect(list.drop(first) == nil)
    #expect(list.drop(second) == "second")
    #expect(list.drop(second) == nil)
    list.end(of: .user(1))
    #expect(list.next()?.element == "third")
    list.end(of: .user(3))
    #expect(list.isEmpty)
  }

  @Test("Random programs: the limits hold, nobody waits while there is room, and all get their turn once")
  func random() {
    for seed in 1...300 as ClosedRange<UInt64> {
      var random = SeededGenerator(seed: seed)
      let (total, perAccount) = (Int.random(in: 1...4, using: &random), Int.random(in: 1...3, using: &random))
      var list = TurnList<Int>(total: total, perAccount: perAccount)
      var (waiting, running, over): ([Int: UInt32], [UInt32], Set<Int>) = ([:], [], [])
      var tickets: [Int: UInt64] = [:]
      for step in 0..<200 {
        switch Int.random(in: 0..<3, using: &random) {
        case 0:
          let user = UInt32.random(in: 1...3, using: &random)
          tickets[step] = list.add(step, of: .user(user))
          waiting[step] = user
        case 1: if !running.isEmpty { list.end(of: .user(running.removeLast())) }
        default:
          guard let (step, ticket) = tickets.randomElement(using: &random) else { continue }
          #expect((list.drop(ticket) != nil) == (waiting[step] != nil))
          waiting[step] = nil
        }
        while let (_, element) = list.next() {
          guard let user = waiting.removeValue(forKey: element) else {
            Issue.record("\(element) had its turn twice, or was dropped (seed \(seed))")
            return
          }
          #expect(over.insert(element).inserted)
          running.append(user)
        }
        #expect(running.count <= total)
        let counts = Dictionary(running.map { ($0, 1) }, uniquingKeysWith: +)
        #expect(counts.values.allSatisfy { $0 <= perAccount })
        if running.count < total { #expect(waiting.values.allSatisfy { counts[$0, default: 0] == perAccount }) }
      }
    }
  }

  @Test("A client that hangs up while it waits gives up at once what its request holds")
  func hangingUp() {
    let owner = Exchanges()
    let turns = ClientTurns(total: 1, perUser: 1)
    let kept = Mutex<ClientTurns.Turn?>(nil)
    turns.acquire(for: .user(1), HTTPResponder(exchange: 1, server: owner, form: nil)) { turn in
      kept.withLock { $0 = turn }
    }
    final class Files: Sendable {}
    weak var files: Files?
    let started = Mutex(0)
    do {
      let held = Files()
      files = held
      turns.acquire(for: .user(2), HTTPResponder(exchange: 2, server: owner, form: nil)) { _ in
        withExtendedLifetime(held) { started.withLock { $0 += 1 } }
      }
    }
    #expect(files != nil)
    owner.end(2)
    #expect(files == nil)
    kept.withLock { $0 = nil }
    #expect(started.withLock { $0 } == 0)
    turns.acquire(for: .user(2), HTTPResponder(exchange: 3, server: owner, form: nil)) { _ in
      started.withLock { $0 += 1 }
    }
    #expect(started.withLock { $0 } == 1)
  }

  private static func takeAll(_ list: inout TurnList<String>) -> [String] {
    var taken: [String] = []
    while let next = list.next() { taken.append(next.element) }
    return taken
  }
}

/// Suspended requests without a server.
private final class Exchanges: ExchangeOwner {
  private let state = Mutex((over: Set<UInt64>(), calls: [UInt64: [@Sendable () -> Void]]()))

  func answer(_ exchange: UInt64, with response: HTTPResponse) -> Bool { isWaiting(exchange) }

  func isWaiting(_ exchange: UInt64) -> Bool { state.withLock { !$0.over.contains(exchange) } }

  func whenOver(_ exchange: UInt64, _ call: @escaping @Sendable () -> Void) {
    state.withLock { $0.calls[exchange, default: []].append(call) }
  }

  /// Has a client hang up.
  func end(_ exchange: UInt64) {
    let calls = state.withLock { state in
      state.over.insert(exchange)
      return state.calls.removeValue(forKey: exchange) ?? []
    }
    for call in calls { call() }
  }
}
