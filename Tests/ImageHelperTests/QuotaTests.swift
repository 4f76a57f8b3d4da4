import Testing

@testable import ImageProtocol

@Suite("Quotas of the image helpers")
@MainActor
final class QuotaTests {
  private let quota = Quota(10)
  private var ended: [String] = []

  /// Asks for an amount that is not free; returns the ticket.
  private func ask(_ amount: Int) throws -> UInt64 {
    let grant = quota.request(amount)
    guard case .wait(let ticket) = grant else { throw WasNotToWait(grant: grant) }
    return ticket
  }

  private struct WasNotToWait: Error { let grant: Quota.Grant }

  private func wait(_ ticket: UInt64) -> Task<Void, Never> {
    Task.immediate {
      let result = await withCheckedContinuation { quota.wait(ticket, $0) }
      ended.append((try? result.get()) == nil ? "\(ticket) failed" : "\(ticket)")
    }
  }

  @Test("What is free is given out in the order it is asked for, however much the first wants")
  func order() async throws {
    #expect(quota.request(8) == .granted)
    let first = wait(try ask(5))
    // There would be room for it, but the first would wait for ever then.
    let second = wait(try ask(1))
    #expect(!quota.takeNow(1))
    let third = wait(try ask(9))
    quota.giveBack(2)
    quota.giveBack(6)
    await first.value
    await second.value
    #expect(ended == ["1", "2"])
    quota.giveBack(5)
    quota.giveBack(1)
    await third.value
    #expect(ended == ["1", "2", "3"])
  }

  @Test("Who gives up lets those behind go on, and nobody waits once it is closed")
  func abandon() async throws {
    #expect(quota.request(6) == .granted)
    let tickets = [try ask(10), try ask(4), try ask(4)]
    let tasks = tickets.map(wait)
    quota.abandon(tickets[0], .waitedTooLong)
    await tasks[0].value
    await tasks[1].value
    quota.close()
    await tasks[2].value
    #expect(ended == ["1 failed", "2", "3 failed"])
    #expect(quota.request(0) == .refused)
  }

  @Test("What becomes free, or is called off, between asking and waiting is not lost")
  func between() async throws {
    #expect(quota.request(10) == .granted)
    let tickets = [try ask(4), try ask(4), try ask(9)]
    quota.giveBack(4)
    quota.abandon(tickets[1], .waitedTooLong)
    quota.close()
    for ticket in tickets { await wait(ticket).value }
    #expect(ended == ["1", "2 failed", "3 failed"])
  }
}
