import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import PostgresTesting
import Testing

@testable import Fleet
@testable import FleetSimulation
@testable import PostgresFleet
@testable import PostgresStore

/// The ledgers that have to behave alike.
enum LedgerKind: String, CaseIterable, CustomTestStringConvertible {
  case memory, postgres
  /// PostgreSQL through a pooler that gives each transaction another connection.
  case pooled

  static var available: [LedgerKind] {
    [.memory] + (PostgresCluster.isAvailable() ? [.postgres] : []) + (PostgresCluster.hasPooler() ? [.pooled] : [])
  }

  var testDescription: String { rawValue }
}

/// A database with a store, in which a fleet keeps its ledger.
final class FleetFixture {
  static let ordinal: UInt32 = 3
  let database: TestDatabase
  let model: ManagedObjectModel
  let job: Entity
  let fleet: FleetDatabase
  let store: PostgresStore

  private let url: String

  /// - Parameters:
  ///   - release: the release of the host that makes the ledger.
  ///   - isPooled: whether a pooler is between the fleet and the database.
  init(_ release: LedgerRelease = LedgerRelease("1.0"), isPooled: Bool = false) throws {
    database = try PostgresCluster.makeDatabase()
    url = isPooled ? database.pooledURL : database.url
    model = try BuiltInModel.merged(withModelsIn: "/nonexistent")
    job = try #require(model.entitiesByName["Job"])
    store = try PostgresStore(url, model: model, coordinatorOrdinal: Self.ordinal)
    fleet = try Self.fleet(url, job: job, of: release)
  }

  private static func fleet(_ url: String, job: Entity, of release: LedgerRelease) throws -> FleetDatabase {
    try FleetDatabase(url, job: job, coordinatorOrdinal: ordinal, release: release)
  }

  /// The same fleet, as a host of another release opens it.
  func fleet(of release: LedgerRelease) throws -> FleetDatabase { try Self.fleet(url, job: job, of: release) }

  deinit { try? store.close() }

  func ledger(_ name: String = "test", of host: Int? = nil) throws -> PostgresLedger {
    try fleet.ledger(name, of: host)
  }

  /// Runs SQL in the store's schema; answers the first value, as text.
  @discardableResult
  func run(_ sql: String) throws -> String? { try database.run("SET search_path TO bobbin; \(sql)") }

  /// A connection as a ledger has them, for statements one by one.
  ///
  /// - Parameters:
  ///   - name: the name of its session.
  ///   - isDirect: whether there is no pooler between, though the fleet has one.
  func connection(named name: String, isDirect: Bool = false) throws -> Connection {
    var options = PostgresStoreOptions()
    options.applicationName = name
    return try Connection(Connection.Settings(isDirect ? database.url : url, options: options))
  }

  /// The name of a session of a host.
  func session(_ name: String, of host: Int) throws -> String {
    let uuid = try #require(try run("SELECT value FROM _metadata WHERE key = 'uuid'"))
    return "bobbin-\(uuid.lowercased().prefix(8))/\(host)/\(name)"
  }
}

struct NotInTime: Error { let what: String }

/// A ledger of one kind, with two hosts and what a test of its behaviour needs.
final class LedgerFixture {
  let ledger: any FleetLedger
  private let memory: MemoryLedger?
  private let postgres: FleetFixture?
  let a: Int
  let b: Int
  private var numbers: [Int: [Int: Int64]] = [:]

  init(_ kind: LedgerKind) throws {
    switch kind {
    case .memory:
      let memory = MemoryLedger()
      memory.now = 1_000_000
      (self.memory, postgres, ledger) = (memory, nil, memory)
    case .postgres, .pooled:
      let fixture = try FleetFixture(isPooled: kind == .pooled)
      (memory, postgres, ledger) = (nil, fixture, try fixture.ledger())
    }
    var joined: [Int] = []
    for root in ["a", "b"] {
      guard case .joined(let number, _) = try ledger.perform(.join(Self.host(root))) else {
        throw LedgerError.contradiction
      }
      joined.append(number)
    }
    (a, b) = (joined[0], joined[1])
  }

  static func host(_ root: String) -> FleetHost {
    FleetHost(root: root, slots: 2, types: ["work", "other"], places: ["home of \(root)"])
  }

  /// Lets so many milliseconds pass for all beats.
  func pass(_ time: Int64) throws {
    memory?.now += time
    try postgres?.run("UPDATE _beat SET seen = seen - \(time) * interval '1 ms'")
  }

  /// Makes an order one that only a newer release can read.
  func spoilOrder(_ ticket: Int64) throws {
    try postgres?.run(#"UPDATE _order SET body = '{"version":2,"order":"dance"}' WHERE ticket = \#(ticket)"#)
  }

  func job(_ key: Int64, _ change: (inout JobSpecification) -> Void = { _ in }) throws -> FleetJob {
    var specification = JobSpecification(type: "work", id: "job\(key)")
    change(&specification)
    return FleetJob(id: id(key), name: "job\(key)", specification: specification, place: "home of a", created: 0)
  }

  func id(_ key: Int64) -> ManagedObjectID {
    guard let postgres else {
      return ManagedObjectID(key: key, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: FleetFixture.ordinal)
    }
    return ManagedObjectID(key: key, entity: postgres.job, coordinatorOrdinal: FleetFixture.ordinal)
  }

  /// The next receipt of a slot.
  func receipt(_ host: Int, _ slot: Int) -> Receipt {
    let number = numbers[host]?[slot] ?? 0
    numbers[host, default: [:]][slot] = number + 1
    return Receipt(host: host, slot: slot, number: number + 1)
  }

  /// Has a host lead, loads, and assigns jobs to `a`.
  func assign(_ keys: [Int64], admitting isAdmitting: Bool = true) throws -> [Run] {
    if isAdmitting { _ = try ledger.perform(.admit(try keys.map { try job($0) }, receipt(a, 1))) }
    _ = try ledger.perform(.lead(after: 0, silence: Silence(3_500), receipt(b, 2)))
    let runs = keys.map { Run(job: id($0), host: a, attempt: 1) }
    _ = try ledger.perform(.round(LeadRound(floor: 0, runs: runs), receipt(b, 2)))
    return runs
  }

  /// The state that a new lead would load, by whoever leads.
  func load(by host: Int) throws -> FleetState {
    guard case .loaded(let state) = try ledger.perform(.load(receipt(host, 2))) else { throw LedgerError.contradiction }
    return state
  }

  func runs(of host: Int) throws -> [Run] {
    guard case .runs(let runs, _, _) = try ledger.perform(.readRuns(host: host)) else {
      throw LedgerError.contradiction
    }
    return runs
  }
}

extension LedgerReply {
  var isWritten: Bool { if case .written = self { true } else { false } }
  var isRefused: Bool { if case .refused = self { true } else { false } }
  var lost: [Run]? { if case .tookOver(let runs) = self { runs } else { nil } }
  var news: [News]? {
    switch self {
    case .news(let news, _), .readNews(let news, _): news.map(\.news)
    default: nil
    }
  }
  var beat: Beat? { if case .beaten(let beat) = self { beat } else { nil } }
  var isOutcomeWritten: Bool? { if case .outcome(let isWritten) = self { isWritten } else { nil } }
}
