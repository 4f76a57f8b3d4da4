import DaemonTesting
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

/// The path of schemathesis, which `scripts/install-dependencies test` installs.
private let program = RepositoryPaths.root.appending(path: ".build/contract-tests/bin/schemathesis").path

private func isInstalled() -> Bool {
  SkipReason("needs schemathesis; scripts/install-dependencies test installs it").unless(access(program, X_OK) == 0)
}

extension SystemTests {
  @Suite("Requests made of the description", .enabled(if: isInstalled()))
  struct ContractFuzz {
    /// The time for which it tries at random what the description allows and what it does not, as
    /// BOBBIN_CONTRACT_SECONDS=600 says; nil for some requests of each kind, the same each time.
    private static let seconds = ProcessInfo.processInfo.environment["BOBBIN_CONTRACT_SECONDS"].flatMap(Int.init)

    @Test("Whatever is asked, no reply has a status or a form that is not described, and none is a failure of ours")
    func requests() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n")
      let daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.submit(#"{"jobs": [{"id": "done", "type": "noop"}, {"type": "noop", "batch": "b"}]}"#)
      // It speaks TCP only.
      let port = try Self.freePort()
      let bridge = try ChildProcess.start(
        ChildLaunch(
          executable: "/usr/bin/socat",
          arguments: ["TCP-LISTEN:\(port),bind=127.0.0.1,fork,reuseaddr", "UNIX-CONNECT:\(root.paths.socket)"]))
      defer { try? bridge.killGroup(SIGKILL) }
      let folder = try TemporaryDirectory()
      // Else it would have clients wait for a day.
      try """
      request-timeout = 20
      [parameters]
      "query.wait" = 1
      """.write(toFile: folder.path("schemathesis.toml"), atomically: false, encoding: .utf8)
      let address = "http://127.0.0.1:\(port)"
      let effort =
        Self.seconds.map { ["--max-time", "\($0)", "--workers", "2", "--generation-database", "none"] } ?? [
          "--max-examples", "20", "--seed", "1", "--generation-deterministic",
        ]
      let run = try await Tool.run(
        "/usr/bin/env",
        [
          // Where it keeps what it found.
          "--chdir", folder.path, program, "--config-file", folder.path("schemathesis.toml"),
          "run", address + "/v1/openapi.json", "--url", address,
          // They have no end.
          "--exclude-path", "/v1/events",
          "--wait-for-schema", "10",
          "--phases", "examples,coverage,fuzzing", "--continue-on-failure",
          "--no-color", "--suppress-health-check",
          "all",
          "--checks",
          "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
            + "response_schema_conformance,unsupported_method,negative_data_rejection",
        ] + effort, environment: ["HOME": folder.path], seconds: (Self.seconds ?? 60) + 120)
      #expect(run.code == 0, "\(run.output.suffix(20_000))\n\(run.errors)")
      #expect(try await daemon.request("GET", "/healthz").status == 200)
    }

    /// A port of the loopback that nobody listens on.
    private static func freePort() throws -> UInt16 {
      let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      try #require(number >= 0)
      defer { close(number) }
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let status = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(number, $0, length) == 0 && getsockname(number, $0, &length) == 0
        }
      }
      try #require(status)
      return address.sin_port.bigEndian
    }
  }
}
