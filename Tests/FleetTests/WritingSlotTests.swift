import Testing

@testable import Fleet

@Suite("A writing slot")
struct WritingSlotTests {
  private var slot = WritingSlot(host: 4, slot: 0, life: 3)

  private mutating func begin() -> LedgerRequest { slot.begin { .flush([], $0) } }

  private func number(_ request: LedgerRequest) -> Int64? {
    if case .flush(_, let receipt) = request { receipt.number } else { nil }
  }

  @Test("Transactions are numbered from 1, and one that met no database keeps its number")
  mutating func numbers() {
    #expect(number(begin()) == 1)
    guard case .sendLater(let again) = slot.handle(.failure(.unavailable)) else {
      Issue.record("it is not made again")
      return
    }
    #expect(number(again) == 1)
    #expect(!slot.isIdle)
    guard case .answered(.written) = slot.handle(.success(.written)) else {
      Issue.record("it is not answered")
      return
    }
    #expect(slot.isIdle)
    #expect(number(begin()) == 2)
  }

  @Test("A lost answer is found out by the receipt", arguments: [true, false])
  mutating func lostAnswer(isWritten: Bool) {
    _ = begin()
    guard case .send(.outcome(let receipt)) = slot.handle(.failure(.unknown)) else {
      Issue.record("nobody asks for the outcome")
      return
    }
    #expect(receipt == Receipt(host: 4, slot: 0, number: 1))
    switch slot.handle(.success(.outcome(isWritten: isWritten))) {
    case .written: #expect(isWritten && slot.isIdle)
    case .send(let again): #expect(!isWritten && number(again) == 1)
    default: Issue.record("neither")
    }
  }

  @Test("A fence that does not hold is looked into, since the same may have been written late")
  mutating func stale() {
    _ = begin()
    guard case .send(.outcome) = slot.handle(.failure(.stale)) else {
      Issue.record("nobody asks for the outcome")
      return
    }
    guard case .sendLater(.outcome) = slot.handle(.failure(.unavailable)) else {
      Issue.record("the question is not asked again")
      return
    }
    guard case .fenced = slot.handle(.failure(.fenced)) else {
      Issue.record("it is not fenced")
      return
    }
  }

  @Test("What loses its answer a second time is made again later, and not at once")
  mutating func losesEachAnswer() {
    _ = begin()
    _ = slot.handle(.failure(.unknown))
    guard case .send(.flush) = slot.handle(.success(.outcome(isWritten: false))) else {
      Issue.record("it is not made again at once")
      return
    }
    _ = slot.handle(.failure(.unknown))
    guard case .sendLater(.flush) = slot.handle(.success(.outcome(isWritten: false))) else {
      Issue.record("it is made again without a pause")
      return
    }
    _ = slot.handle(.success(.written))
    _ = begin()
    _ = slot.handle(.failure(.stale))
    guard case .send(.flush) = slot.handle(.success(.outcome(isWritten: false))) else {
      Issue.record("the next one has to wait for the last one's lost answers")
      return
    }
  }

  @Test("A refused request used no number")
  mutating func refused() {
    _ = begin()
    _ = slot.handle(.success(.refused))
    #expect(number(begin()) == 1)
  }

  @Test("What the server refuses for good is not made again, and used no number")
  mutating func impossible() {
    _ = begin()
    guard case .impossible("too large") = slot.handle(.failure(.impossible("too large"))) else {
      Issue.record("it is not told")
      return
    }
    #expect(slot.isIdle && number(begin()) == 1)
  }

  @Test("An old slot is replaced by one that counts from 1 again, and that may be asked for twice")
  mutating func replacement() {
    for _ in 0..<3 {
      #expect(!slot.isOld)
      _ = begin()
      _ = slot.handle(.success(.written))
    }
    #expect(slot.isOld)
    slot.begin(slot.replacement)
    guard case .sendLater(.replaceSlot(host: 4, old: 0, new: 3)) = slot.handle(.failure(.unknown)) else {
      Issue.record("it is not asked for again")
      return
    }
    _ = slot.handle(.success(.written))
    #expect(!slot.isOld)
    if case .flush(_, let receipt) = begin() { #expect(receipt == Receipt(host: 4, slot: 3, number: 1)) }
  }

  @Test("A reading has no number, and is made again whatever became of its answer")
  func reading() {
    var slot = WritingSlot(host: 4, slot: 0, life: 1_000)
    for error in [LedgerError.unknown, .unavailable] {
      slot.begin(.readNews(above: 3, besides: [5]))
      guard case .sendLater(.readNews(above: 3, besides: [5])) = slot.handle(.failure(error)) else {
        Issue.record("it is not made again after \(error)")
        return
      }
      _ = slot.handle(.success(.readNews([], timeline: 1)))
      #expect(slot.isIdle)
    }
    guard case .flush(_, let receipt) = slot.begin({ .flush([], $0) }) else { return }
    #expect(receipt.number == 1)
  }
}
