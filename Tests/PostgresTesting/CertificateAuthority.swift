import Foundation
package import TestSupport

/// A certificate authority in a folder, made by the openssl command.
package struct CertificateAuthority: Sendable {
  /// The path of its own certificate.
  package let certificate: String
  private let key: String
  private let request: String
  private let environment: [String: String]

  /// - Parameter environment: what openssl gets, such as another clock.
  package init(
    _ name: String, in directory: TemporaryDirectory, environment: [String: String] = [:]
  ) async throws {
    self.environment = environment
    certificate = directory.path(name + ".crt")
    key = directory.path(name + ".key")
    request = directory.path(name + ".csr")
    try await openssl(
      ["req", "-x509", "-nodes", "-keyout", key, "-out", certificate, "-subj", "/CN=\(name)", "-days", "9"]
        + Self.keyKind)
  }

  /// Makes a key of a server, and signs its certificate.
  ///
  /// - Parameters:
  ///   - names: what the server is called, such as `DNS:localhost` and `IP:192.0.2.1`.
  ///   - days: the days for which it holds; a negative number makes one that has expired.
  package func sign(_ path: String, _ serverKey: String, names: String, days: Int = 2) async throws {
    try await openssl(
      [
        "req", "-nodes", "-keyout", serverKey, "-out", request, "-subj", "/CN=server", "-addext",
        "subjectAltName=\(names)",
      ] + Self.keyKind)
    try await openssl([
      "x509", "-req", "-in", request, "-CA", certificate, "-CAkey", key, "-CAcreateserial", "-copy_extensions", "copy",
      "-days", "\(days)", "-out", path,
    ])
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: serverKey)
    try PostgresCluster.unprivileged(serverKey)
  }

  private static let keyKind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]

  private func openssl(_ arguments: [String]) async throws {
    let tool = try await Tool.run("/usr/bin/openssl", arguments, environment: environment)
    guard tool.code == 0 else {
      throw TestDatabase.Failure(description: "openssl \(arguments.joined(separator: " ")): \(tool.errors)")
    }
  }
}
