import Testing

@testable import Fleet

@Suite("The number below which no news are looked for")
struct NewsFloorTests {
  private var floor = NewsFloor(patience: 60_000)

  private mutating func read(
    _ numbers: [Int64], by own: Int64, oldest: Int64, beside writers: Set<String>? = nil, at time: Int64 = 0
  ) {
    floor.note(numbers, TransactionHorizon(own: own, oldest: oldest, writers: writers), at: time)
  }

  @Test("It rises once all transactions have ended that were under way when the news were read")
  mutating func rises() {
    read([1, 2, 5], by: 10, oldest: 8)
    #expect(floor.number == 0)
    // Transaction 8 may have drawn the numbers 3 and 4.
    read([6], by: 12, oldest: 8)
    #expect(floor.number == 0)
    read([3, 4, 7], by: 14, oldest: 12)
    #expect(floor.number == 5)
  }

  @Test("It begins anew on another server, whose numbers may be lower")
  mutating func otherServer() {
    read([1, 2, 5], by: 10, oldest: 10)
    read([], by: 12, oldest: 12)
    read([], by: 14, oldest: 14)
    #expect(floor.number == 5)
    floor.note([3], TransactionHorizon(own: 9, oldest: 9, timeline: 2), at: 0)
    #expect(floor.number == 0)
    floor.note([4], TransactionHorizon(own: 11, oldest: 11, timeline: 2), at: 0)
    floor.note([], TransactionHorizon(own: 13, oldest: 13, timeline: 2), at: 0)
    #expect(floor.number == 3)
  }

  @Test("A transaction that has begun between two reads keeps it down, though it has the higher number")
  mutating func laterTransaction() {
    read([2], by: 10, oldest: 10)
    // It has drawn number 1 before 2 was read, and is under way still.
    read([], by: 12, oldest: 11)
    read([], by: 14, oldest: 11)
    #expect(floor.number == 0)
    read([1], by: 16, oldest: 16)
    #expect(floor.number == 2)
  }

  @Test("It rises beside a transaction that goes on and on, if that writes no news") mutating func foreign() {
    read([1, 2], by: 10, oldest: 1, at: 100)
    read([], by: 12, oldest: 1, at: 200)
    // It is not known yet that one goes on.
    #expect(!floor.asksForWriters(at: 60_100))
    read([3], by: 14, oldest: 1, at: 300)
    #expect(!floor.asksForWriters(at: 60_099))
    #expect(floor.asksForWriters(at: 60_100))
    #expect(floor.number == 0)
    read([4], by: 16, oldest: 1, beside: [], at: 60_101)
    #expect(floor.number == 2)
    // The next mark has its own time.
    #expect(!floor.asksForWriters(at: 60_102))
  }

  @Test("It waits for a transaction that writes news, however long that takes, and not for others that began later")
  mutating func hangingCommit() {
    for own: Int64 in [10, 11] { read([2], by: own, oldest: 9) }
    read([], by: 12, oldest: 9, beside: ["3/5", "4/1"], at: 60_000)
    #expect(floor.number == 0)
    #expect(!floor.asksForWriters(at: 119_999))
    read([], by: 14, oldest: 9, beside: ["3/5", "4/2"], at: 120_000)
    read([], by: 16, oldest: 9, at: 600_000)
    #expect(floor.number == 0)
    read([1], by: 18, oldest: 9, beside: ["4/2", "5/1"], at: 600_001)
    #expect(floor.number == 2)
  }
}
