import Dispatch
import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import PostgresTesting
import Synchronization
import SystemSupport
import TestSupport
import Testing

@testable import Fleet
@testable import PostgresFleet
@testable import PostgresStore

/// Hosts of several releases on one ledger.
///
/// There is one format so far, so the newer ones and the releases that know them are made up.
@Suite("The format of a ledger", .enabled(if: PostgresCluster.isAvailable()))
struct LedgerFormatTests {
  /// What brings a ledger of the first format to the next, and so on.
  private static let migrations = [
    ["CREATE TABLE _later (number bigint)", "ALTER TABLE _inbox ADD COLUMN later text"],
    ["ALTER TABLE _later ADD COLUMN name text DEFAULT 'x'"],
  ]
  private static let first = LedgerTables.format

  /// A release that works in some formats, by their distances from the first; it is called as they are.
  private static func release(_ formats: ClosedRange<Int>) -> LedgerRelease {
    LedgerRelease(
      "\(formats.lowerBound).\(formats.upperBound)", oldest: first + formats.lowerBound,
      migrations: Array(migrations.prefix(formats.upperBound)))
  }

  private static let old = release(0...0)
  private static let new = release(0...1)

  private let fixture: FleetFixture
  private var numbers: [[Int]: Int64] = [:]

  init() throws { fixture = try FleetFixture(Self.old) }

  @discardableResult
  private static func join(_ root: String, _ fleet: FleetDatabase) throws -> Int {
    let host = FleetHost(root: root, slots: 2, types: ["work"], places: [])
    let ledger = try fleet.ledger("join")
    defer { ledger.close() }
    guard case .joined(let number, _) = try ledger.perform(.join(host)) else { throw LedgerError.contradiction }
    return number
  }

  private static func leave(_ root: String, _ fleet: FleetDatabase) throws {
    let ledger = try fleet.ledger("leave")
    defer { ledger.close() }
    _ = try ledger.perform(.bury(root: root))
  }

  private func format() throws -> Int {
    try #require(try fixture.run("SELECT value FROM _metadata WHERE key = 'fleet'").flatMap { Int($0) }) - Self.first
  }

  /// The message of the refusal of a host that starts.
  private func refusal(of release: LedgerRelease) throws -> String {
    let error = #expect(throws: StoreError.self) { try fixture.fleet(of: release) }
    #expect(error?.code == .incompatibleModel)
    return error?.message ?? ""
  }

  /// The next receipt of a slot.
  private mutating func receipt(_ host: Int, _ slot: Int) -> Receipt {
    numbers[[host, slot], default: 0] += 1
    return Receipt(host: host, slot: slot, number: numbers[[host, slot]] ?? 1)
  }

  /// Does a job: one host admits and runs it, another one leads.
  private mutating func work(_ key: Int64, at host: (Int, PostgresLedger), lead: (Int, PostgresLedger)) throws {
    let id = ManagedObjectID(key: key, entity: fixture.job, coordinatorOrdinal: FleetFixture.ordinal)
    let job = FleetJob(id: id, name: "job\(key)", specification: JobSpecification(type: "work"), created: 0)
    let run = Run(job: id, host: host.0, attempt: 1)
    _ = try host.1.perform(.admit([job], receipt(host.0, 1)))
    _ = try lead.1.perform(.round(LeadRound(floor: 0, runs: [run]), receipt(lead.0, 2)))
    #expect(try host.1.perform(.beat(host: host.0)).beat?.runCount == 1)
    #expect(
      try host.1.perform(.flush([EndedRun(run: run, event: .succeeded)], receipt(host.0, 0))).isWritten)
  }

  @Test("stays until no living host is of an older release, is raised then, and older ones are refused from then on")
  mutating func upgrade() throws {
    let newer = try fixture.fleet(of: Self.new)
    let ash = (try Self.join("ash:/spool", fixture.fleet), try fixture.fleet.ledger("ash"))
    let birch = (try Self.join("birch:/spool", newer), try newer.ledger("birch"))
    _ = try ash.1.perform(.lead(after: 0, silence: Silence(3_500), receipt(ash.0, 2)))
    try work(1, at: birch, lead: ash)
    let overview = try ash.1.overview()
    #expect(overview.format == Self.first && overview.hosts.map(\.release) == ["0.0", "0.1"])
    #expect(overview.hosts.map(\.formats) == [Self.first...Self.first, Self.first...(Self.first + 1)])

    for isTrial in [true, false] {
      let refused = try newer.finishUpgrade(isTrial: isTrial)
      #expect(refused.isRefused && refused.holdingBack.map(\.root) == ["ash:/spool"] && refused.shutOut.isEmpty)
      // Nor does the older one know of anything to do.
      #expect(try fixture.fleet.finishUpgrade(isTrial: isTrial) == refused)
    }
    try Self.leave("ash:/spool", fixture.fleet)
    let trial = try newer.finishUpgrade(isTrial: true)
    #expect(try format() == 0 && !trial.isRefused && trial.new == Self.first + 1)
    #expect(trial.shutOut.map(\.root) == ["ash:/spool"] && trial.shutOut.map(\.release) == ["0.0"])
    // The trial has kept nobody out.
    try Self.join("ash:/spool", fixture.fleet)
    try Self.leave("ash:/spool", fixture.fleet)
    #expect(try newer.finishUpgrade(isTrial: false) == trial)
    #expect(try format() == 1 && fixture.run("SELECT count(later) FROM _inbox") == "0")

    // Who was there goes on, on the same connections.
    _ = try birch.1.perform(.lead(after: 1, silence: Silence(3_500), receipt(birch.0, 2)))
    try work(2, at: birch, lead: birch)
    #expect(try birch.1.overview().format == Self.first + 1)
    let again = try newer.finishUpgrade(isTrial: false)
    #expect(again.old == again.new && !again.isRefused && again.shutOut.isEmpty)

    #expect(throws: LedgerError.self) { try Self.join("ash:/spool", fixture.fleet) }
    #expect(
      try refusal(of: Self.old)
        == "the ledger of the fleet has format \(Self.first + 1), and this release (0.0) works in \(Self.first): it is too "
        + "old for this fleet; install a newer one on this host, such as that of birch:/spool (0.1)")
    #expect(throws: StoreError.self) {
      try FleetDatabase.bury("birch:/spool", url: fixture.database.url, by: Self.old, limit: .seconds(20))
    }
    let sharing = FleetDatabase.sharing(besides: "ash:/spool", at: fixture.database.url, by: Self.old)
    #expect(throws: StoreError.self) { try sharing.hosts() }
    #expect(try birch.1.perform(.beat(host: birch.0)).beat != nil)
    try Self.join("ash:/spool", newer)
  }

  @Test("keeps out releases that are too new for it, and tells which hosts are to be upgraded first")
  func tooNew() throws {
    let release = Self.release(1...2)
    let advice =
      "the ledger of the fleet has format \(Self.first), and this release (1.2) works in \(Self.first + 1) to "
      + "\(Self.first + 2): it is too new for this fleet; first run \"bobbinctl fleet finish-upgrade\" on hosts of a "
      + "release that works in both"
    #expect(try refusal(of: release) == advice)
    try Self.join("ash:/spool", fixture.fleet)
    try Self.join("birch:/spool", try fixture.fleet(of: Self.new))
    #expect(try refusal(of: release) == advice + ", which these are not yet: ash:/spool (0.0)")
  }

  @Test("is raised as far as all living hosts go, and whoever keeps it from more is told")
  func partly() throws {
    let newest = try fixture.fleet(of: Self.release(0...2))
    try Self.join("ash:/spool", try fixture.fleet(of: Self.new))
    try Self.join("birch:/spool", newest)
    let end = try newest.finishUpgrade(isTrial: false)
    #expect(try format() == 1 && end.holdingBack.map(\.root) == ["ash:/spool"] && !end.isRefused)
    try Self.leave("ash:/spool", newest)
    #expect(try newest.finishUpgrade(isTrial: false).shutOut.map(\.root) == ["ash:/spool"])
    #expect(try format() == 2)
  }

  @Test("is the newest that the first host knows, with the tables that older ledgers are brought to")
  func newLedger() throws {
    let tables = """
      SELECT table_name, column_name, data_type, column_default FROM information_schema.columns \
      WHERE table_schema = 'bobbin' AND table_name LIKE '\\_%' ORDER BY 1, 2
      """
    let newest = Self.release(0...2)
    let fresh = try FleetFixture(newest)
    #expect(try fresh.run("SELECT value FROM _metadata WHERE key = 'fleet'") == "\(Self.first + 2)")
    let raised = try fixture.fleet(of: newest)
    try Self.join("ash:/spool", raised)
    _ = try raised.finishUpgrade(isTrial: false)
    #expect(try fixture.database.output(tables) == fresh.database.output(tables))
  }

  // MARK: At the same time

  /// Runs a body on a thread of its own; waited for by what it returns.
  private func begin<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
  ) -> () throws -> Value {
    let over = Latch()
    let result = Mutex<Result<Value, any Error>?>(nil)
    Thread.detachNewThread {
      let value = Result { try body() }
      result.withLock { $0 = value }
      over.open()
    }
    return {
      guard over.wait(for: .seconds(30)), let value = result.withLock({ $0 }) else { throw NotInTime(what: "a thread") }
      return try value.get()
    }
  }

  /// The end of an upgrade on a thread of its own, which waits patiently for what others hold.
  private func beginUpgrade() throws -> () throws -> UpgradeEnd {
    let connection = try fixture.connection(named: "upgrade")
    let end = begin {
      try LedgerFormat(connection: connection, release: Self.new).finishUpgrade(isTrial: false, waitingFor: 20_000)
    }
    try fixture.database.awaitLock(of: "upgrade")
    return end
  }

  /// A transaction that holds a table that hosts need to join, and for the end of an upgrade.
  private func holdInbox() throws -> Connection {
    let holder = try fixture.connection(named: "holder")
    try holder.control("BEGIN; LOCK TABLE _inbox")
    return holder
  }

  /// A host of an older release, which joins on a thread of its own and waits for what others hold.
  private func beginJoin() throws -> () throws -> LedgerReply {
    let host = FleetHost(root: "ash:/spool", slots: 2, types: [], places: [])
    let joined = begin { [fleet = fixture.fleet] in try fleet.ledger("join").perform(.join(host)) }
    try fixture.database.awaitLock(of: "\(fixture.fleet.fleet)//join")
    return joined
  }

  @Test("is raised before a host of an older release joins that came too late, which sees the new one")
  func joinDuringUpgrade() throws {
    let newer = try fixture.fleet(of: Self.new)
    try Self.join("birch:/spool", newer)
    let holder = try holdInbox()
    let end = try beginUpgrade()
    // Its first look at the format has let it in.
    let joined = try beginJoin()
    try holder.control("COMMIT")
    #expect(try end().new == Self.first + 1)
    let error = #expect(throws: LedgerError.self) { try joined() }
    #expect("\(error.map { "\($0)" } ?? "")".contains("it is too old for this fleet"))
    #expect(try fixture.database.output("SELECT root, state FROM _host") == "birch:/spool|alive")
  }

  @Test("stays where a host of an older release has begun to join before")
  func upgradeDuringJoin() throws {
    let newer = try fixture.fleet(of: Self.new)
    try Self.join("birch:/spool", newer)
    let holder = try holdInbox()
    let joined = try beginJoin()
    let end = try beginUpgrade()
    try holder.control("COMMIT")
    _ = try joined()
    #expect(try end().holdingBack.map(\.root) == ["ash:/spool"])
    #expect(try format() == 0)
  }

  @Test("is not raised in part if the session breaks in the middle; the next attempt does all of it")
  func crash() throws {
    let newer = try fixture.fleet(of: Self.new)
    try Self.join("birch:/spool", newer)
    let holder = try holdInbox()
    let end = try beginUpgrade()
    try fixture.run(
      """
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() \
      AND application_name = 'upgrade'
      """)
    #expect(throws: StoreError.self) { try end() }
    try holder.control("COMMIT")
    #expect(try format() == 0 && fixture.run("SELECT to_regclass('_later') IS NULL") == "t")
    #expect(try newer.finishUpgrade(isTrial: false).new == Self.first + 1)
    #expect(try fixture.run("SELECT count(*) FROM _later") == "0")
  }

  @Test("is not raised while a table is in use for long, so that nobody waits longer than the leases allow")
  func busy() throws {
    let newer = try fixture.fleet(of: Self.new)
    try Self.join("birch:/spool", newer)
    let holder = try holdInbox()
    let error = #expect(throws: StoreError.self) { try newer.finishUpgrade(isTrial: false) }
    #expect(error?.code == .busy)
    try holder.control("COMMIT")
    #expect(try format() == 0)
  }

  @Test("fits all living hosts, whoever joins, leaves and finishes upgrades at the same time")
  func crowd() throws {
    let fleets = try [Self.old, Self.new, Self.release(0...2)].map(fixture.fleet)
    let ends = (0..<6).map { number in
      begin {
        var generator = SeededGenerator(seed: UInt64(number))
        for _ in 0..<15 {
          let fleet = fleets[number % 3]
          switch Int.random(in: 0..<4, using: &generator) {
          case 0:
            do { _ = try fleet.finishUpgrade(isTrial: false) } catch let error as StoreError where error.code == .busy {
            }
          case 1: try Self.leave("host\(number)", fleet)
          default: do { try Self.join("host\(number)", fleet) } catch LedgerError.impossible {}
          }
        }
      }
    }
    for end in ends { try end() }
    let unfit = """
      SELECT count(*) FROM _host, _metadata WHERE key = 'fleet' AND state = 'alive' \
      AND value::bigint NOT BETWEEN oldest AND newest
      """
    #expect(try fixture.run(unfit) == "0")
  }

  // MARK: At random

  /// A plain model of which hosts are there, and in which format they work.
  private struct Model {
    var format: Int
    /// The last release of each root, and whether it is alive.
    var hosts: [String: (formats: ClosedRange<Int>, isAlive: Bool)] = [:]

    mutating func join(_ root: String, _ formats: ClosedRange<Int>) -> Bool {
      if !formats.contains(format) { return false }
      hosts[root] = (formats, true)
      return true
    }

    mutating func finish(_ own: ClosedRange<Int>) -> (holdingBack: Set<String>, shutOut: Set<String>) {
      let alive = hosts.filter(\.value.isAlive)
      let limits = alive.map(\.value.formats.upperBound) + [own.upperBound]
      let limit = limits.min() ?? format
      let hasMore = limits.max() ?? limit > limit
      let isRaised = limit > format
      format = limit
      return (
        hasMore ? Set(alive.filter { $0.value.formats.upperBound == limit }.keys) : [],
        isRaised ? Set(hosts.filter { !$0.value.isAlive && $0.value.formats.upperBound < limit }.keys) : []
      )
    }
  }

  @Test("is what a plain model of it says, whatever hosts of whatever releases do", arguments: 0..<20)
  func random(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let ranges = [0...0, 0...1, 0...2, 1...1, 1...2, 2...2]
    var model = Model(format: 0)
    var fleets: [ClosedRange<Int>: FleetDatabase] = [:]
    for step in 0..<30 {
      let root = ["ash", "birch", "cedar"][Int.random(in: 0..<3, using: &generator)]
      let formats = ranges[Int.random(in: 0..<ranges.count, using: &generator)]
      // As a host that has started with that release before, or as one that starts now.
      if fleets[formats] == nil || Bool.random(using: &generator) {
        if model.format < formats.lowerBound || model.format > formats.upperBound {
          _ = try refusal(of: Self.release(formats))
        } else {
          fleets[formats] = try fixture.fleet(of: Self.release(formats))
        }
      }
      guard let fleet = fleets[formats] else { continue }
      switch Int.random(in: 0..<6, using: &generator) {
      case 0...2:
        var isJoined = true
        do { try Self.join(root, fleet) } catch LedgerError.impossible { isJoined = false }
        #expect(isJoined == model.join(root, formats), "seed \(seed), step \(step)")
      case 3...4:
        try Self.leave(root, fixture.fleet)
        model.hosts[root]?.isAlive = false
      default:
        // Only hosts that are alive are asked to do so.
        guard let asked = model.hosts.filter(\.value.isAlive).keys.min(), let own = model.hosts[asked]?.formats,
          let fleet = fleets[own]
        else { continue }
        if Bool.random(using: &generator) {
          let trial = try fleet.finishUpgrade(isTrial: true)
          var copy = model
          #expect(copy.finish(own).shutOut == Set(trial.shutOut.map(\.root)), "seed \(seed), step \(step)")
          #expect(trial.new == Self.first + copy.format)
        } else {
          let old = model.format
          let expected = model.finish(own)
          let end = try fleet.finishUpgrade(isTrial: false)
          #expect(end.old == Self.first + old && end.new == Self.first + model.format, "seed \(seed), step \(step)")
          #expect(Set(end.holdingBack.map(\.root)) == expected.holdingBack, "seed \(seed), step \(step)")
          #expect(Set(end.shutOut.map(\.root)) == expected.shutOut, "seed \(seed), step \(step)")
        }
      }
      #expect(try format() == model.format, "seed \(seed), step \(step)")
    }
  }
}
