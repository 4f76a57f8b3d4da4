import Foundation
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
    let server = try await CertifiedServer()
    /// The error of opening once the server has reloaded its settings, which it does at its leisure.
    func failure(_ words: String) throws -> StoreError? {
      try server.reload()
      let end = ContinuousClock.now.advanced(by: .seconds(30))
      var last: StoreError?
      while ContinuousClock.now < end, last?.message.contains(words) != true {
        do throws(StoreError) { try open(server.url) } catch { last = error }
      }
      return last
    }

    try open(server.url)
    try await server.sign(days: -1)
    var error = try failure("check sslrootcert, the host's name and the certificate's dates")
    #expect(error?.code == .cannotOpen, "expired: \(error?.debugDescription ?? "")")
    try await server.sign(names: "DNS:elsewhere.example")
    error = try failure("elsewhere.example")
    #expect(error?.code == .cannotOpen, "of another host: \(error?.debugDescription ?? "")")
    #expect(error?.message.contains("elsewhere.example") == true)
    try await server.sign(by: CertificateAuthority("stranger", in: server.folder))
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
}
