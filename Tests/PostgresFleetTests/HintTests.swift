import Dispatch
import ObjectGraph
import PostgresTesting
import Synchronization
import Testing

@testable import Fleet
@testable import PostgresFleet

@Suite("Hints between hosts", .enabled(if: PostgresCluster.isAvailable()))
struct HintTests {
  private let fixture: FleetFixture
  private let queue = DispatchQueue(label: "listening")
  private let heard = DispatchSemaphore(value: 0)

  init() throws {
    fixture = try FleetFixture()
    for root in ["a", "b"] {
      _ = try fixture.ledger().perform(.join(FleetHost(root: root, slots: 2, types: ["work"], places: [])))
    }
  }

  private func listener() throws -> PostgresLedger {
    let heard = heard
    let ledger = try fixture.fleet.ledger("beat", of: 1, listener: .init(on: queue) { _ in heard.signal() })
    try queue.sync { try ledger.connect() }
    return ledger
  }

  private static func send(_ hint: MemberHint, to hosts: [Int], by ledger: PostgresLedger) {
    var hints = Hints()
    hints.add(hint, to: hosts)
    ledger.send(hints)
  }

  private func isHinted(within limit: DispatchTimeInterval = .seconds(10)) -> Bool {
    heard.wait(timeout: .now() + limit) == .success
  }

  @Test("wake who listens, though it asks for nothing; others hear nothing of it")
  func wake() throws {
    let listener = try listener()
    let other = try fixture.ledger("beat", of: 2)
    Self.send(.runs, to: [1], by: other)
    #expect(isHinted())
    Self.send(.runs, to: [2, 11], by: other)
    Self.send(.runs, to: [1], by: other)
    #expect(isHinted())
    #expect(!isHinted(within: .milliseconds(100)))
    withExtendedLifetime(listener) {}
  }

  @Test("that come together with an answer are heard as well")
  func together() throws {
    let listener = try listener()
    let other = try fixture.ledger("beat", of: 2)
    let answered = DispatchSemaphore(value: 0)
    queue.async {
      Self.send(.runs, to: [1], by: other)
      _ = try? listener.perform(.beat(host: 1))
      answered.signal()
    }
    #expect(answered.wait(timeout: .now() + 10) == .success)
    #expect(isHinted())
  }

  @Test("tell what they are about, and one of another release is about everything")
  func subjects() throws {
    let seen = Mutex<[Set<MemberHint>]>([])
    let heard = heard
    let ledger = try fixture.fleet.ledger(
      "beat", of: 1,
      listener: .init(on: queue) { hints in
        seen.withLock { $0.append(hints) }
        heard.signal()
      })
    try queue.sync { try ledger.connect() }
    let other = try fixture.ledger("beat", of: 2)
    Self.send(.outcomes, to: [1], by: other)
    #expect(isHinted())
    let channel = Hints.channel(of: 1, fleet: fixture.fleet.fleet)
    try fixture.run("SELECT pg_notify('\(channel)', 'of a later release')")
    #expect(isHinted())
    #expect(seen.withLock { $0 } == [[.outcomes], Set(MemberHint.allCases)])
    withExtendedLifetime(ledger) {}
  }

  @Test("are heard again after the connection broke, from the next beat on")
  func reconnected() throws {
    let listener = try listener()
    let session = try fixture.session("beat", of: 1)
    try fixture.run(
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = '\(session)'")
    // The beat may be the first to notice.
    queue.sync { for _ in 0..<2 { _ = try? listener.perform(.beat(host: 1)) } }
    Self.send(.runs, to: [1], by: try fixture.ledger("beat", of: 2))
    #expect(isHinted())
  }
}
