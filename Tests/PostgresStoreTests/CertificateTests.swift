import Foundation
import Glibc
import ObjectModel
import PostgresTesting
import StoreInterface
import TestSupport
import Testing

@testable import PostgresStore

@Suite("Servers that prove who they are", .enabled(if: PostgresCluster.isAvailable()))
struct CertificateTests {
  private let model: ManagedObjectModel

  init() throws { model = try PostgresFixture.model() }

  @Test("A certificate that holds, one that has expired, one of another host, and one by a stranger")
  func certificates() async throws {
    let directory = try TemporaryDirectory()
    try PostgresCluster.unprivileged(directory.path)
    let authority = try await CertificateAuthority("authority", in: directory)
    let (certificate, key) = (directory.path("server.crt"), directory.path("server.key"))
    try await authority.sign(certificate, key, names: "DNS:localhost")
    let port = try freePort()
    let server = try PostgresCluster(settings: [
      "listen_addresses": "127.0.0.1", "port": "\(port)", "ssl": "on", "ssl_cert_file": certificate,
      "ssl_key_file": key,
    ])
    let local = server.url(of: "postgres") + "?port=\(port)"
    let url =
      "postgresql://postgres@localhost:\(port)/postgres?hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert=\(authority.certificate)"
    /// The error of opening once the server has reloaded its settings, which it does at its leisure.
    func failure(_ words: String) throws -> StoreError? {
      try TestDatabase.run("SELECT pg_reload_conf()", local)
      let end = ContinuousClock.now.advanced(by: .seconds(30))
      var last: StoreError?
      while ContinuousClock.now < end, last?.message.contains(words) != true {
        do throws(StoreError) { try open(url) } catch { last = error }
      }
      return last
    }

    try open(url)
    try await authority.sign(certificate, key, names: "DNS:localhost", days: -1)
    var error = try failure("check sslrootcert, the host's name and the certificate's dates")
    #expect(error?.code == .cannotOpen, "expired: \(error?.debugDescription ?? "")")
    try await authority.sign(certificate, key, names: "DNS:elsewhere.example")
    error = try failure("elsewhere.example")
    #expect(error?.code == .cannotOpen, "of another host: \(error?.debugDescription ?? "")")
    #expect(error?.message.contains("elsewhere.example") == true)
    try await CertificateAuthority("stranger", in: directory).sign(certificate, key, names: "DNS:localhost")
    error = try failure("verify failed")
    #expect(error?.code == .cannotOpen, "by a stranger: \(error?.debugDescription ?? "")")
    #expect(error?.message.contains("verify failed") == true)
  }

  @Test("A server that goes during the handshake is away, and of several the one that is not trusted is told")
  func handshake() {
    func error(_ reasons: String...) -> StoreError {
      let lines = reasons.map { "connection to server at \"db\" (192.0.2.1), port 5432 failed: \($0)" }
      return ServerFailure.connecting(lines.joined(separator: "\n"), place: "db", role: "ada")
    }
    let reset = "server closed the connection unexpectedly\nSSL SYSCALL error: Connection reset by peer"
    for end in [reset, "SSL SYSCALL error: EOF detected", "SSL error: unexpected eof while reading"] {
      #expect(error(end).code == .unavailable, "\(end)")
    }
    let mixed = error("Connection refused", "SSL error: certificate verify failed")
    #expect(mixed.code == .cannotOpen)
    #expect(mixed.message.contains("certificate verify failed") && !mixed.message.contains("refused"))
  }

  private func open(_ url: String) throws(StoreError) {
    try PostgresStore(url, model: model, coordinatorOrdinal: 1).close()
  }

  /// A port of the loopback interface that nobody listens on.
  private func freePort() throws -> UInt16 {
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
    try #require(isBound)
    return UInt16(bigEndian: address.sin_port)
  }
}
