import Foundation
package import TestSupport

/// A certificate authority in a folder, made by the openssl command.
package struct CertificateAuthority: Sendable {
  /// The path of its own certificate.
  package let certificate: String
  private let key: String
  private let request: String

  package init(_ name: String, in directory: TemporaryDirectory) async throws {
    certificate = directory.path(name + ".crt")
    key = directory.path(name + ".key")
    request = directory.path(name + ".csr")
    try await Self.openssl(
      ["req", "-x509", "-nodes", "-keyout", key, "-out", certificate, "-subj", "/CN=\(name)", "-days", "2"]
        + Self.keyKind)
  }

  /// Makes a key of a server, and signs its certificate.
  ///
  /// - Parameters:
  ///   - names: what the server is called, such as `DNS:localhost` and `IP:192.0.2.1`.
  ///   - days: the days for which it holds; a negative number makes one that has expired.
  package func sign(_ path: String, _ serverKey: String, names: String, days: Int = 2) async throws {
    try await Self.openssl(
      [
        "req", "-nodes", "-keyout", serverKey, "-out", request, "-subj", "/CN=server", "-addext",
        "subjectAltName=\(names)",
      ] + Self.keyKind)
    try await Self.openssl([
      "x509", "-req", "-in", request, "-CA", certificate, "-CAkey", key, "-CAcreateserial", "-copy_extensions", "copy",
      "-days", "\(days)", "-out", path,
    ])
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: serverKey)
    try PostgresCluster.unprivileged(serverKey)
  }

  private static let keyKind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]

  private static func openssl(_ arguments: [String]) async throws {
    let tool = try await Tool.run("/usr/bin/openssl", arguments)
    guard tool.code == 0 else {
      throw TestDatabase.Failure(description: "openssl \(arguments.joined(separator: " ")): \(tool.errors)")
    }
  }
}
