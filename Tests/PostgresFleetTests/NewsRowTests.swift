import PostgresTesting
import Testing

@testable import Fleet
@testable import PostgresFleet

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
}
