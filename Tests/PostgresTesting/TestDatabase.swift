import CPostgres
import Foundation
import Glibc
import Synchronization

/// A database for one test; dropped with this object, whoever is connected.
package final class TestDatabase: Sendable {
  package let name: String
  package let url: String
  private let cluster: PostgresCluster
  private static let count = Atomic<Int>(0)

  init(in cluster: PostgresCluster) throws {
    self.cluster = cluster
    name = "test\(Self.count.add(1, ordering: .relaxed).newValue)"
    url = cluster.url(of: name)
    try Self.run("CREATE DATABASE \(name)", cluster.url(of: "postgres"))
  }

  deinit {
    // What is left of it ends with the server.
    _ = try? Self.run("DROP DATABASE \(name) WITH (FORCE)", cluster.url(of: "postgres"))
  }

  /// The address of the same database through a pooler.
  package var pooledURL: String {
    cluster.url(of: name, socketFolder: cluster.folder + "/pool", port: ":6432") + "?pooled=yes"
  }

  /// The folder of the server's socket.
  package var socketFolder: String { cluster.folder }

  /// Makes a role, unless it is there: all databases of the server share them.
  package func makeRole(_ name: String, _ rest: String = "") throws {
    try run(
      "DO $$ BEGIN CREATE ROLE \(name) LOGIN \(rest); EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"
    )
  }

  /// Makes the role that has to give its password.
  package func makeRoleWithPassword() throws {
    try makeRole(PostgresCluster.roleWithPassword, "SUPERUSER PASSWORD '\(PostgresCluster.password)'")
  }

  /// Runs SQL in the database, past the store; answers the first value, as text.
  @discardableResult
  package func run(_ sql: String) throws -> String? { try Self.run(sql, url) }

  /// Runs SQL through the pooler, with nothing set for it; answers the first value, as text.
  package func runPooled(_ sql: String) throws -> String? {
    let connection = try Self.connected(pooledURL.replacing("?pooled=yes", with: ""))
    defer { PQfinish(connection) }
    return try Self.rows(sql, connection).first?.first ?? nil
  }

  /// Runs SQL as the store's own shell would, in its schema: the values of a row with bars between them, a line per row.
  ///
  /// Names with capital letters need no quotes here, as little as for SQLite.
  package func output(_ sql: String) throws -> String {
    try lines("SET search_path = bobbin; " + Self.quoted(sql))
  }

  /// Runs SQL in the database, past the store: the values of a row with bars between them, a line per row.
  package func lines(_ sql: String) throws -> String {
    try Self.rows(sql, url).map { row in row.map { $0 ?? "" }.joined(separator: "|") }.joined(separator: "\n")
  }

  /// Puts names in quotes that have letters of both kinds; those in quotes already and literals stay.
  private static func quoted(_ sql: String) -> String {
    var parts: [Substring] = []
    var rest = sql[...]
    while let found = rest.firstMatch(of: /'[^']*'|"[^"]*"|\w+/) {
      parts.append(rest[..<found.range.lowerBound])
      let word = found.output
      let isName = word.first != "'" && word.first != "\"" && word.contains(where: \.isLowercase)
      parts.append(isName && word.contains(where: \.isUppercase) ? "\"\(word)\"" : word)
      rest = rest[found.range.upperBound...]
    }
    return parts.joined() + rest
  }

  package struct Failure: Error, CustomStringConvertible { package let description: String }

  @discardableResult
  package static func run(_ sql: String, _ url: String) throws -> String? { try rows(sql, url).first?.first ?? nil }

  /// Waits until a condition in SQL holds, which is looked at whenever somebody notifies a channel.
  package static func wait(
    for condition: String, at url: String, channel: String, seconds: Double
  ) throws {
    let connection = try connect(url)
    defer { PQfinish(connection) }
    _ = try rows("LISTEN \(channel)", connection)
    let end = ContinuousClock.now.advanced(by: .seconds(seconds))
    while try rows("SELECT 1 WHERE \(condition)", connection).isEmpty {
      let left = ContinuousClock.now.duration(to: end) / .milliseconds(1)
      var entry = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
      guard left > 0, poll(&entry, 1, Int32(left)) > 0 else { throw Failure(description: "still not \(condition)") }
      PQconsumeInput(connection)
      while let notice = PQnotifies(connection) { PQfreemem(notice) }
    }
  }

  /// Waits until a session waits for what another one holds.
  ///
  /// - Parameter session: the name of the session, or a pattern of LIKE.
  package func awaitLock(of session: String) throws {
    let end = ContinuousClock.now + .seconds(20)
    let waiting = "datname = current_database() AND wait_event_type = 'Lock' AND application_name LIKE '\(session)'"
    while try run("SELECT count(*) FROM pg_stat_activity WHERE \(waiting)") == "0" {
      if ContinuousClock.now > end { throw Failure(description: "\(session) does not wait for a lock") }
    }
  }

  /// Runs a statement in a transaction that stays open until it is released, and holds the locks that the statement took.
  package func hold(_ sql: String) throws -> HeldTransaction {
    let connection = try Self.connect(url)
    _ = try Self.rows("BEGIN; \(sql)", connection)
    return HeldTransaction(connection)
  }

  /// The rows of the last statement.
  package static func rows(_ sql: String, _ url: String) throws -> [[String?]] {
    let connection = try connect(url)
    defer { PQfinish(connection) }
    return try rows(sql, connection)
  }

  private static func connect(_ url: String) throws -> OpaquePointer? {
    let options = "-c%20statement_timeout%3D60s%20-c%20default_transaction_read_only%3Doff"
    let first = url.contains("?") ? "&" : "?"
    return try connected(url + first + "connect_timeout=10&options=" + options)
  }

  private static func connected(_ url: String) throws -> OpaquePointer? {
    let connection = PQconnectdb(url)
    if PQstatus(connection) == CONNECTION_OK { return connection }
    defer { PQfinish(connection) }
    throw Failure(description: String(cString: PQerrorMessage(connection)))
  }

  private static func rows(_ sql: String, _ connection: OpaquePointer?) throws -> [[String?]] {
    let result = PQexec(connection, sql)
    defer { PQclear(result) }
    switch PQresultStatus(result) {
    case PGRES_COMMAND_OK: return []
    case PGRES_TUPLES_OK:
      return (0..<PQntuples(result)).map { row in
        (0..<PQnfields(result)).map { column in
          PQgetisnull(result, row, column) == 1 ? nil : String(cString: PQgetvalue(result, row, column))
        }
      }
    default: throw Failure(description: String(cString: PQresultErrorMessage(result)))
    }
  }
}

/// An open transaction of ``TestDatabase/hold(_:)``.
package final class HeldTransaction {
  private var connection: OpaquePointer?

  fileprivate init(_ connection: OpaquePointer?) { self.connection = connection }

  deinit { release() }

  /// Undoes the transaction. Safe to repeat.
  package func release() {
    PQfinish(connection)
    connection = nil
  }
}
