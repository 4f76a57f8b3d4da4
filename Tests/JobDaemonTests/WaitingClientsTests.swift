import Testing

@testable import JobDaemon

@Suite("Clients that wait for jobs")
struct WaitingClientsTests {
  private let waits = WaitingClients()
  private let limits = (all: 16, perUser: 8)

  @Test("Three quarters of all places are for waiting, three quarters of each user's, and the owner's are its own")
  func shares() {
    let first = (0..<20).compactMap { _ in waits.enter(.user(1), isOwner: false, of: limits) }
    #expect(first.count == 6)
    let second = (0..<20).compactMap { _ in waits.enter(.user(2), isOwner: false, of: limits) }
    #expect(second.count == 6)
    #expect(waits.enter(.user(3), isOwner: false, of: limits) == nil)
    let owner = (0..<20).compactMap { _ in waits.enter(.user(0), isOwner: true, of: limits) }
    #expect(owner.count == 12)
    withExtendedLifetime((first, second, owner)) {}
  }

  @Test("A place is free again when it is left, once, and when nobody has it any more", arguments: [false, true])
  func leaving(isOwner: Bool) throws {
    for _ in 0..<100 {
      let place = try #require(waits.enter(.user(1), isOwner: isOwner, of: (1, 1)))
      #expect(waits.enter(.user(1), isOwner: isOwner, of: (1, 1)) == nil)
      place.leave()
      let next = try #require(waits.enter(.user(1), isOwner: isOwner, of: (1, 1)))
      place.leave()
      #expect(waits.enter(.user(1), isOwner: isOwner, of: (1, 1)) == nil)
      withExtendedLifetime(next) {}
    }
    for _ in 0..<100 { try #require(waits.enter(.user(1), isOwner: isOwner, of: (1, 1)) != nil) }
  }
}
