import CPostgres
import Foundation
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

  /// The folder of the server's socket.
  package var socketFolder: String { cluster.folder }

  /// Runs SQL in the database, past the store; answers the first value, as text.
  @discardableResult
  package func run(_ sql: String) throws -> String? { try Self.run(sql, url) }

  package struct Failure: Error, CustomStringConvertible { package let description: String }

  @discardableResult
  private static func run(_ sql: String, _ url: String) throws -> String? {
    let connection = PQconnectdb(url + "?connect_timeout=10&options=-c%20statement_timeout%3D60s")
    defer { PQfinish(connection) }
    guard PQstatus(connection) == CONNECTION_OK else {
      throw Failure(description: String(cString: PQerrorMessage(connection)))
    }
    let result = PQexec(connection, sql)
    defer { PQclear(result) }
    switch PQresultStatus(result) {
    case PGRES_COMMAND_OK: return nil
    case PGRES_TUPLES_OK:
      return PQntuples(result) > 0 && PQgetisnull(result, 0, 0) == 0 ? String(cString: PQgetvalue(result, 0, 0)) : nil
    default: throw Failure(description: String(cString: PQresultErrorMessage(result)))
    }
  }
}
