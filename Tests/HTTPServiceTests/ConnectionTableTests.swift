import Dispatch
import SystemSupport
import Testing

@testable import HTTPService

@Suite("Places of connections")
struct ConnectionTableTests {
  private static let limits = {
    var limits = HTTPServerLimits()
    (limits.connections, limits.reservedConnections, limits.connectionsPerUser) = (10, 2, 4)
    (limits.connectionsPerStranger, limits.strangerConnections) = (2, 3)
    return limits
  }()

  private var table = ConnectionTable(limits: Self.limits)
  private var descriptor: Int32 = 1_000

  private mutating func add(_ user: UInt32, _ standing: PeerStanding) throws -> UInt64? {
    descriptor += 1
    let pair = try FileDescriptor.socketPair(.stream)
    return table.add(
      ConnectionSocket(try pair.first.duplicate()), descriptor: descriptor,
      client: HTTPClient(PeerCredentials(processID: 1, user: user, group: user)), standing: standing, deadline: .now())
  }

  /// How many of 20 connections get in.
  private mutating func crowd(_ user: UInt32, _ standing: PeerStanding) throws -> Int {
    try (0..<20).count { _ in try add(user, standing) != nil }
  }

  @Test("No user, no crowd of strangers and not all users together take the owner's")
  mutating func shares() throws {
    let strangers = try (1...5).map { try crowd(UInt32($0), .stranger) }
    #expect(strangers == [2, 1, 0, 0, 0])
    #expect(try (11...14).map { try crowd(UInt32($0), .user) } == [4, 3, 0, 0])
    #expect(try crowd(0, .owner) == 2)
    #expect(try add(12, .user) == nil)
  }

  @Test("A connection that ends leaves its place to the next, of whatever kind")
  mutating func places() throws {
    for standing in PeerStanding.allCases {
      let first = try #require(try add(7, standing))
      #expect(table.standing(of: PeerCredentials(processID: 2, user: 7, group: 7)) == standing)
      #expect(table.standing(of: PeerCredentials(processID: 2, user: 7, group: 8)) == nil)
      let rest = try (0..<20).compactMap { _ in try add(7, standing) }
      #expect(try add(7, standing) == nil)
      table.remove(first)
      let again = try #require(try add(7, standing))
      for id in rest + [again] { table.remove(id) }
      #expect(table.connections.isEmpty)
      #expect(table.standing(of: PeerCredentials(processID: 2, user: 7, group: 7)) == nil)
    }
  }
}
