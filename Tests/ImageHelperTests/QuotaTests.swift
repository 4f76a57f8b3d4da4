import Testing

@testable import ImageProtocol

@Suite("Quotas of the image helpers")
@MainActor
final class QuotaTests {
  private let quota = Quota(10)
  private var ended: [String] = []

  private func wait(_ ticket: UInt64, _ amount: Int) -> Task<Void, Never> {
    Task.immediate {
      let result = await withCheckedContinuation { quota.wait(ticket, for: amount, $0) }
      ended.append((try? result.get()) == nil ? "\(ticket) failed" : "\(ticket)")
    }
  }

  @Test("What is free is given out in the order it is asked for, however much the first wants")
  func order() async {
    #expect(quota.request(8) == .granted)
    #expect(quota.request(5) == .wait)
    let first = wait(1, 5)
    // There would be room for it, but the first would wait for ever then.
    #expect(quota.request(1) == .wait)
    let second = wait(2, 1)
    let third = wait(3, 9)
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
  func abandon() async {
    #expect(quota.request(6) == .granted)
    let first = wait(1, 10)
    let second = wait(2, 4)
    let third = wait(3, 4)
    quota.abandon(1, .waitedTooLong)
    await first.value
    await second.value
    quota.close()
    await third.value
    #expect(ended == ["1 failed", "2", "3 failed"])
    #expect(quota.request(0) == .refused)
  }
}
