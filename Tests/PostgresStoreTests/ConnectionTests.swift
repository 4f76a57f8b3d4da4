import Foundation
import PostgresTesting
import SQLGeneration
import StoreInterface
import Synchronization
import Testing

@testable import PostgresStore

@Suite("A connection to PostgreSQL", .enabled(if: PostgresCluster.isAvailable()))
struct ConnectionTests {
  private let database: TestDatabase

  init() throws { database = try PostgresCluster.makeDatabase() }

  private func connect(_ change: (inout PostgresStoreOptions) -> Void = { _ in }) throws -> Connection {
    var options = PostgresStoreOptions()
    options.schemaName = "public"
    change(&options)
    return try Connection(
      Connection.Settings(
        target: try ConnectionTarget(database.url, options: options), noticeLog: options.noticeLog,
        statementLog: options.statementLog))
  }

  @Test("passes values of every kind in binary form, and reads them as they were")
  func values() throws {
    let connection = try connect()
    var parameters = Parameters([.integer(.min), .double(-0.5), .text("Zoë"), .text(""), .blob([0, 255]), .blob([])])
    parameters.addNull(.text)
    let result = try connection.query(
      "SELECT $1, $2, $3, $4, $5, $6, $7, 7::int2, 8::int4, true, 0.25::float4", parameters)
    #expect(result.rowCount == 1)
    #expect(result.integer(0, 0) == .min)
    #expect(result.real(0, 1) == -0.5)
    #expect(result.text(0, 2) == "Zoë")
    #expect(result.text(0, 3) == "" && !result.isNull(0, 3))
    #expect(Array(result.bytes(0, 4)) == [0, 255])
    #expect(result.bytes(0, 5).isEmpty && !result.isNull(0, 5))
    #expect(result.isNull(0, 6))
    #expect((7...9).map { result.integer(0, $0) } == [7, 8, 1])
    #expect(result.real(0, 10) == 0.25)
  }

  @Test("passes arrays, empty ones and ones with nulls too")
  func arrays() throws {
    let connection = try connect()
    var parameters = Parameters()
    parameters.add(integers: [3, 1, 2])
    var texts = ArrayParameter(.text)
    texts.append("a")
    texts.appendNull()
    texts.append("")
    parameters.add(texts)
    parameters.add(ArrayParameter(.real))
    var blobs = ArrayParameter(.binary)
    [UInt8](repeating: 7, count: 3).withUnsafeBytes { blobs.append(bytes: $0) }
    parameters.add(blobs)
    let result = try connection.query(
      "SELECT n, t FROM unnest($1, $2) AS v (n, t) WHERE cardinality($3) = 0 AND ($4)[1] = '\\x070707'", parameters)
    #expect((0..<3).map { result.integer($0, 0) } == [3, 1, 2])
    #expect((0..<3).map { result.textIfPresent($0, 1) } == ["a", nil, ""])
  }

  @Test("runs many statements with one wait, and none behind one that fails")
  func pipelines() throws {
    let connection = try connect()
    try connection.control("CREATE TABLE t (k bigint PRIMARY KEY)")
    func insert(_ key: Int64) -> Request { Request("INSERT INTO t VALUES ($1)", Parameters([.integer(key)])) }
    let results = try connection.pipeline((0..<5000).map { insert(Int64($0)) } + [Request("SELECT count(*) FROM t")])
    #expect(results.last?.integer(0, 0) == 5000)
    #expect(results.first?.changedRowCount == 1)
    let error = #expect(throws: StoreError.self) { try connection.pipeline([insert(9000), insert(1), insert(9001)]) }
    #expect(error?.code == .constraint)
    #expect(try connection.query("SELECT count(*) FROM t").integer(0, 0) == 5000)
    #expect(!connection.link.isInTransaction)
  }

  @Test("does not lock up when much is sent while much is answered")
  func bothWays() throws {
    let connection = try connect()
    let text = String(repeating: "x", count: 300_000)
    let requests = (0..<60).map { _ in Request("SELECT $1", Parameters([.text(text)])) }
    #expect(try connection.pipeline(requests).allSatisfy { $0.bytes(0, 0).count == 300_000 })
  }

  @Test("loads rows by COPY in binary form, in pieces")
  func copying() throws {
    let connection = try connect()
    try connection.control("CREATE TABLE t (k bigint PRIMARY KEY, name text, score float8)")
    let count = try connection.copy("COPY t FROM STDIN (FORMAT binary)") { (writer) throws(StoreError) in
      for key in 0..<20_000 {
        try writer.beginRow(3)
        writer.integer(Int64(key))
        if key % 3 == 0 { writer.null() } else { writer.text("name \(key)") }
        writer.real(Double(key) / 2)
      }
    }
    #expect(count == 20_000)
    let result = try connection.query("SELECT count(*), count(name), sum(score) FROM t")
    #expect(result.integer(0, 0) == 20_000)
    #expect(result.integer(0, 1) == 20_000 - 6_667)
    let error = #expect(throws: StoreError.self) {
      try connection.copy("COPY t FROM STDIN (FORMAT binary)") { (writer) throws(StoreError) in
        try writer.beginRow(3)
        writer.integer(1)
        writer.null()
        writer.null()
      }
    }
    #expect(error?.code == .constraint)
    let own = #expect(throws: StoreError.self) {
      try connection.copy("COPY t FROM STDIN (FORMAT binary)") { (_) throws(StoreError) in
        throw StoreError(.unsupported, "no such row")
      }
    }
    #expect(own?.code == .unsupported)
    #expect(try connection.query("SELECT count(*) FROM t").integer(0, 0) == 20_000)
  }

  @Test("tells while it writes that the server takes it, as watchdogs want to know, and not while it reads")
  func traffic() throws {
    var options = PostgresStoreOptions()
    options.schemaName = "public"
    let settings = Connection.Settings(target: try ConnectionTarget(database.url, options: options))
    let writer = try Connection(settings)
    _ = try writer.query("CREATE TABLE t (text text)")
    // In a transaction of which nobody else sees anything, as a long import is.
    try writer.control("BEGIN")
    let long = String(repeating: "x", count: 200_000)
    var last = settings.traffic.count
    _ = try writer.copy("COPY t FROM STDIN (FORMAT binary)") { (rows) throws(StoreError) in
      for _ in 0..<10 {
        try rows.beginRow(1)
        rows.text(long)
        // A row is sent with the next.
        if rows.rowCount == 1 { continue }
        #expect(settings.traffic.count > last)
        last = settings.traffic.count
      }
    }
    try writer.control("COMMIT")
    last = settings.traffic.count
    let reader = try Connection(settings, .reader)
    #expect(try reader.query("SELECT text FROM t").rowCount == 10)
    #expect(settings.traffic.count == last)
  }

  @Test("tells what a lost connection means, before the commit and during it, and is never used again")
  func lostConnection() throws {
    for isCommitting in [false, true] {
      let connection = try connect()
      try connection.control("BEGIN")
      let server = try connection.query("SELECT pg_backend_pid()").integer(0, 0)
      try database.run("SELECT pg_terminate_backend(\(server), 10000)")
      let error = #expect(throws: StoreError.self) {
        if isCommitting { try connection.commit() } else { _ = try connection.query("SELECT 1") }
      }
      #expect(error?.code == (isCommitting ? .inputOutput : .unavailable))
      #expect(!connection.isUsable)
      #expect(throws: StoreError.self) { try connection.query("SELECT 1") }
    }
  }

  @Test("notices that a commit was an undoing")
  func failedCommit() throws {
    let connection = try connect()
    try connection.control("BEGIN")
    #expect(throws: StoreError.self) { try connection.query("SELECT 1/0") }
    #expect(connection.link.isInTransaction)
    let error = #expect(throws: StoreError.self) { try connection.commit() }
    #expect(error?.code == .busy)
    #expect(!connection.link.isInTransaction)
  }

  @Test("ends a statement that takes too long, and one whose task is cancelled")
  func limits() async throws {
    let slow = try connect { $0.statementTimeout = 1 }
    let error = #expect(throws: StoreError.self) { try slow.query("SELECT pg_sleep(30)") }
    #expect(error?.code == .busy)
    #expect(slow.isUsable)
    let connection = try connect()
    let task = Task {
      try connection.endingEarly(true) { _ = try connection.query("SELECT pg_sleep(30)") }
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test("tells waiting for somebody else's row from a failure")
  func waiting() throws {
    try database.run("CREATE TABLE t (k bigint); INSERT INTO t VALUES (1)")
    let (first, second) = (try connect(), try connect { $0.lockTimeout = 1 })
    try first.control("BEGIN; UPDATE t SET k = 2")
    let error = #expect(throws: StoreError.self) { try second.query("UPDATE t SET k = 3") }
    #expect(error?.code == .busy)
  }

  @Test("says what is wrong with the way to the database, and what to do")
  func unreachable() throws {
    func failure(_ url: String) throws -> StoreError? {
      let target = try ConnectionTarget(url, options: PostgresStoreOptions())
      return #expect(throws: StoreError.self) { try Connection(Connection.Settings(target: target)) }
    }
    let refused = try failure("postgresql://127.0.0.1:1/jobs")
    #expect(refused?.code == .unavailable)
    #expect(refused?.description.contains("postgresql://127.0.0.1:1/jobs") == true)
    #expect(refused?.message.contains("Connection refused") == true)
    let absent = try failure(database.url.replacing("/" + database.name, with: "/absent"))
    #expect(absent?.code == .cannotOpen)
    #expect(absent?.message.contains("no such database") == true)
    let stranger = try failure(database.url.replacing("postgres@", with: "stranger@"))
    #expect(stranger?.code == .cannotOpen)
    #expect(stranger?.message.contains("role") == true)
  }

  @Test("refuses to write to a server that is read only, or without the right")
  func refusals() throws {
    try database.run("CREATE TABLE t (k bigint)")
    let connection = try connect()
    try connection.control("BEGIN READ ONLY")
    let readOnly = #expect(throws: StoreError.self) { try connection.query("INSERT INTO t VALUES (1)") }
    #expect(readOnly?.code == .readOnly)
    connection.rollBack()
    try database.run("DO $$ BEGIN CREATE ROLE guest; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    try connection.control("SET ROLE guest")
    let forbidden = #expect(throws: StoreError.self) { try connection.query("INSERT INTO t VALUES (1)") }
    #expect(forbidden?.code == .readOnly)
    #expect(forbidden?.message.contains("GRANT") == true)
  }

  @Test("sees what was committed before each statement, whatever the database's default")
  func isolation() throws {
    try database.run("ALTER DATABASE \(database.name) SET default_transaction_isolation = 'serializable'")
    let connection = try connect()
    try connection.control("CREATE TABLE t (k int)")
    let count = Request("SELECT count(*) FROM t")
    let before = try connection.pipeline([Request("BEGIN"), count])
    #expect(before[1].integer(0, 0) == 0)
    try database.run("INSERT INTO public.t VALUES (1)")
    let after = try connection.pipeline([count, Request("COMMIT")])
    #expect(after[0].integer(0, 0) == 1)
  }

  @Test("passes on what the server remarks")
  func notices() throws {
    final class Log: Sendable { let lines = Mutex<[String]>([]) }
    let log = Log()
    let connection = try connect { $0.noticeLog = { line in log.lines.withLock { $0.append(line) } } }
    try connection.control("DO $$ BEGIN RAISE WARNING 'look here'; END $$")
    #expect(log.lines.withLock { $0 } == ["look here"])
  }
}
