import PostgresTesting
import Testing

@testable import Fleet
@testable import PostgresFleet
@testable import PostgresStore

@Suite("The rows of the inbox", .enabled(if: PostgresCluster.isAvailable()))
struct NewsRowTests {
  @Test("have a lead load anew that a newer release has written, whether they are only read or deleted as well")
  func newerRelease() throws {
    let fixture = try FleetFixture()
    let ledger = try fixture.ledger("a", of: 1)
    _ = try ledger.perform(.join(FleetHost(root: "a", slots: 2, types: ["work"], places: [])))
    try fixture.run("INSERT INTO _inbox (kind, body) VALUES ('dreamt', 'of sheep'), ('ended', 'well')")
    let read = try ledger.perform(.readNews(above: 0, besides: [])).news
    let taken = try ledger.perform(.round(LeadRound(floor: 0), Receipt(host: 1, slot: 2, number: 1))).news
    for news in [read, taken] {
      #expect(news?.count { if case .changed = $0 { true } else { false } } == 2, "\(String(describing: news))")
    }
    #expect(try fixture.run("SELECT count(*) FROM _inbox") == "0")
  }

  @Test("are looked for while a transaction that writes some goes on, and not while only another program's does")
  func hangingCommit() throws {
    let fixture = try FleetFixture()
    let ledger = try fixture.ledger("a", of: 1)
    _ = try ledger.perform(.join(FleetHost(root: "a", slots: 2, types: ["work"], places: [])))
    let begin = Request("BEGIN")
    let foreign = try fixture.connection(named: "foreign")
    try foreign.pipeline([begin, Request("SELECT pg_current_xact_id()")])
    let writer = try fixture.connection(named: "writer")
    try writer.pipeline([begin, Request("INSERT INTO _inbox (kind) VALUES ('late')")])
    try fixture.run("INSERT INTO _inbox (kind) VALUES ('early')")
    var floor = NewsFloor(patience: 0)
    var count: Int64 = 0
    func read() throws -> (numbers: [Int64], writers: Int?) {
      count += 1
      var round = LeadRound(floor: floor.number)
      round.asksForWriters = floor.asksForWriters(at: count)
      let reply = try ledger.perform(.round(round, Receipt(host: 1, slot: 2, number: count)))
      guard case .news(let news, let horizon) = reply else { throw LedgerError.contradiction }
      floor.note(news.lazy.map(\.number), horizon, at: count)
      return (news.map(\.number), horizon.writers?.count)
    }
    // Nothing is asked for before it is known that there is something to wait for.
    let first = try read()
    #expect(first.numbers == [1, 3] && first.writers == nil)
    for _ in 0..<2 { #expect(try read() == ([], nil)) }
    for _ in 0..<3 { #expect(try read() == ([], 1)) }
    #expect(floor.number == 0)
    try writer.pipeline([Request("COMMIT")])
    #expect(try read() == ([2], 0))
    #expect(floor.number == 3)
    try foreign.pipeline([Request("COMMIT")])
  }
}
