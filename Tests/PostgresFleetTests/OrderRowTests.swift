import Jobs
import ObjectGraph
import PostgresTesting
import Testing

@testable import Fleet
@testable import PostgresFleet
@testable import PostgresStore

@Suite("The rows of an order", .enabled(if: PostgresCluster.isAvailable()))
struct OrderRowTests {
  @Test("have its body once, which is as long as they are many, also where their jobs are gone")
  func body() throws {
    let fixture = try FleetFixture()
    let ledger = try fixture.ledger("a", of: 1)
    _ = try ledger.perform(.join(FleetHost(root: "a", slots: 2, types: ["work"], places: [])))
    let ids = (1...5).map { ManagedObjectID(key: $0, entity: fixture.job, coordinatorOrdinal: FleetFixture.ordinal) }
    let jobs = ids.prefix(3).map { id in
      FleetJob(id: id, name: "job\(id.key)", specification: JobSpecification(type: "work"), created: 0)
    }
    _ = try ledger.perform(.admit(jobs, Receipt(host: 1, slot: 1, number: 1)))
    let order = Order.command(.hold, ids.map { Order.Target($0, attempts: 1) })
    let orders: [Order] = [order, .pause(.queue("q"), true), order]
    for (index, order) in orders.enumerated() {
      _ = try ledger.perform(.order(order, ticket: Int64(index), Receipt(host: 1, slot: 1, number: Int64(index) + 2)))
    }
    let connection = try fixture.connection(named: "reader")
    let open = try connection.pipeline([LedgerTransaction.readOrders])[0]
    #expect(open.rowCount == 11)
    #expect((0..<open.rowCount).filter { open.textIfPresent($0, 2) != nil } == [0, 5, 6])
    guard case .loaded(let state) = try ledger.perform(.load(Receipt(host: 1, slot: 2, number: 1))) else { return }
    #expect(state.orders.map(\.order) == orders)
    #expect(state.orders.map { $0.jobs.map(\.id.key) } == [[1, 2, 3], [], [1, 2, 3]])
    try fixture.run("INSERT INTO _inbox (kind, host, ticket) SELECT 'ordered', 1, t FROM generate_series(0, 2) AS t")
    let news = try connection.pipeline([LedgerTransaction.takeNews(above: 0, besides: [])])[0]
    #expect((0..<news.rowCount).count { news.textIfPresent($0, 3) != nil } == 3)
  }
}
