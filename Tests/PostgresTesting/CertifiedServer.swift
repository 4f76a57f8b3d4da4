import Foundation
import Glibc
package import TestSupport

/// A server on a port of the loopback interface that proves by a certificate who it is.
package final class CertifiedServer: Sendable {
  /// The folder of the certificates.
  package let folder: TemporaryDirectory
  private let authority: CertificateAuthority
  private let cluster: PostgresCluster
  private let port: UInt16
  private var certificate: String { folder.path("server.crt") }
  private var key: String { folder.path("server.key") }

  /// Starts a server whose certificate holds.
  package init() async throws {
    folder = try TemporaryDirectory()
    try PostgresCluster.unprivileged(folder.path)
    authority = try await CertificateAuthority("authority", in: folder)
    try await authority.sign(folder.path("server.crt"), folder.path("server.key"), names: "DNS:localhost")
    port = try Self.freePort()
    cluster = try PostgresCluster(settings: [
      "listen_addresses": "127.0.0.1", "port": "\(port)", "ssl": "on", "ssl_cert_file": folder.path("server.crt"),
      "ssl_key_file": folder.path("server.key"),
    ])
  }

  /// The address for those who have the server prove who it is.
  package var url: String {
    "postgresql://postgres@localhost:\(port)/postgres?hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert="
      + authority.certificate
  }

  /// Gives it another certificate.
  ///
  /// - Parameters:
  ///   - other: the authority that signs it; that which clients trust if nil.
  ///   - days: the days for which it holds; a negative number makes one that has expired.
  package func sign(by other: CertificateAuthority? = nil, names: String = "DNS:localhost", days: Int = 2) async throws
  {
    try await (other ?? authority).sign(certificate, key, names: names, days: days)
  }

  /// Runs SQL without a proof.
  @discardableResult
  package func run(_ sql: String) throws -> String? {
    try TestDatabase.run(sql, cluster.url(of: "postgres") + "?port=\(port)")
  }

  /// Has it read its certificate anew, which it does at its leisure.
  package func reload() throws { try run("SELECT pg_reload_conf()") }

  /// A port that nobody listens on.
  private static func freePort() throws -> UInt16 {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { Glibc.close(socket) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, size) == 0 && getsockname(socket, $0, &size) == 0
      }
    }
    guard isBound else { throw TestDatabase.Failure(description: "no port of the loopback interface is free") }
    return UInt16(bigEndian: address.sin_port)
  }
}
