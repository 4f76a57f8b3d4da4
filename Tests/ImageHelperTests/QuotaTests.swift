import Testing

@testable import ImageHandler

@Suite("Quotas of the image helpers")
struct QuotaTests {
  private let quota = Quota(10)

  /// Asks for an amount that is not free; returns the ticket.
  private func ask(_ amount: Int) throws -> UInt64 {
    let grant = quota.request(amount)
    guard case .wait(let ticket) = grant else { throw WasNotToWait(grant: grant) }
    return ticket
  }

  private struct WasNotToWait: Error { let grant: Quota.Grant }

  /// Waits from now on; the task's value tells whether the amount was given.
  private func wait(_ ticket: UInt64) -> Task<Bool, Never> {
    Task.immediate {
      let result = await withCheckedContinuation { quota.wait(ticket, $0) }
      return (try? result.get()) != nil
    }
  }

  @Test("What is free is given out in the order it is asked for, however much the first wants")
  func order() async throws {
    #expect(quota.request(8) == .granted)
    let first = wait(try ask(5))
    // There would be room for it, but the first would wait for ever then.
    let second = wait(try ask(1))
    #expect(!quota.acquireNow(1))
    let third = wait(try ask(9))
    quota.return(2)
    #expect(!quota.acquireNow(1))
    quota.return(6)
    #expect(await first.value)
    #expect(await second.value)
    #expect(!quota.acquireNow(1), "the third waits for all that is left")
    quota.return(5)
    quota.return(1)
    #expect(await third.value)
    #expect(quota.acquireNow(1))
    #expect(!quota.acquireNow(1))
  }

  @Test("Who gives up lets those behind go on, and nobody waits once it is closed")
  func abandon() async throws {
    #expect(quota.request(6) == .granted)
    let tickets = [try ask(10), try ask(4), try ask(4)]
    let tasks = tickets.map(wait)
    quota.abandon(tickets[0], .waitedTooLong)
    #expect(await !tasks[0].value)
    #expect(await tasks[1].value)
    quota.close()
    #expect(await !tasks[2].value)
    #expect(quota.request(0) == .refused)
  }

  @Test("What becomes free, or is cancelled, between asking and waiting is not lost")
  func between() async throws {
    #expect(quota.request(10) == .granted)
    let tickets = [try ask(4), try ask(4), try ask(9)]
    quota.return(4)
    quota.abandon(tickets[1], .waitedTooLong)
    quota.close()
    var given: [Bool] = []
    for ticket in tickets { given.append(await wait(ticket).value) }
    #expect(given == [true, false, false])
  }
}
