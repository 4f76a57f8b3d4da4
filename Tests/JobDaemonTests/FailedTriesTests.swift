import Testing

@testable import JobDaemon

@Suite("Wrong tokens")
struct FailedTriesTests {
  @Test("Ten of a network in a minute are counted, and then no more until it is over")
  func limit() {
    var tries = FailedTries()
    let first = (0..<12).map { tries.note("192.0.2.1", at: 1_000 * $0) }
    #expect(
      first == [FailedTries.Outcome](repeating: .counted, count: 9) + [
        .last, .tooMany(secondsLeft: 50), .tooMany(secondsLeft: 49),
      ])
    #expect(tries.note("192.0.2.2", at: 11_000) == .counted)
    #expect(tries.note("192.0.2.1", at: 59_999) == .tooMany(secondsLeft: 1))
    #expect(tries.note("192.0.2.1", at: 60_000) == .counted)
  }

  @Test("Very many networks cost no memory without bound: they are counted as one until some are over")
  func networks() {
    var tries = FailedTries()
    for number in 0..<1_000 { #expect(tries.note("\(number)", at: 0) == .counted) }
    let rest = (1_000..<1_011).map { tries.note("\($0)", at: 1) }
    #expect(rest.last == .tooMany(secondsLeft: 60))
    #expect(tries.note("1", at: 2) == .counted)
    #expect(tries.note("2000", at: 70_000) == .counted)
  }
}
