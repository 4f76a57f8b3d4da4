import DaemonTesting
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("Secrets of handlers")
  struct Secrets {
    @Test("The values of Environment= and of a job's arguments are in no log, in no list of processes and in no status")
    func hidden() async throws {
      let (inherited, argument, changed) = ("open-sesame-4711", "swordfish-4711", "abracadabra-4711")
      let root = try DaemonRoot(DaemonRoot.quickFlushes + "[Log]\nLevel=debug\n[Status]\nListen=127.0.0.1:0\n")
      let token = try await AccessByToken("ops", "control")
      try root.write(token.line + "\n", to: root.paths.tokens)
      let script = root.directory.path("secret")
      // It sees both, and writes down what everybody sees of all processes meanwhile.
      try root.write(
        """
        #!/bin/sh
        grep -q \(argument) && test -n "$TOKEN" || exit 3
        for process in /proc/[0-9]*; do tr '\\0' ' ' <"$process/cmdline"; done >\(root.paths.payload)/processes 2>/dev/null
        exit 1

        """, to: script)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
      func declare(_ value: String) throws {
        try root.write(
          "[Handler]\nType=secret\nExecStart=\(script)\nEnvironment=TOKEN=\(value)\n",
          to: root.paths.handlers + "/secret.conf")
      }
      try declare(inherited)
      let daemon = try await DaemonProcess.ready(root)
      let job = try await daemon.submit(
        #"{"type": "secret", "id": "one", "maxAttempts": 1, "arguments": {"password": "\#(argument)"}}"#)
      let failure = job.first?["error"]?.string ?? ""
      #expect(
        job.first?["state"]?.string == "discarded" && failure.contains("exited with code 1"), "\(failure)")
      try declare(changed)
      try daemon.child.kill(SIGHUP)
      try await daemon.waitForLog("reloaded")
      // A mistake beside it, which is told with its line.
      try root.write(
        "[Handler]\nType=secret\nExecStart=\(script)\nEnvironment=TOKEN=\(inherited)\nTimeoutSec=soon\n",
        to: root.paths.handlers + "/secret.conf")
      try daemon.child.kill(SIGHUP)
      try await daemon.waitForLog("the old one stays in force")
      let processes = try String(contentsOfFile: root.paths.payload + "/processes", encoding: .utf8)
      #expect(processes.contains("bobbind"))
      var places = [
        ("log", daemon.logText), ("processes", processes), ("status", try await daemon.tool("status").output),
        ("manager", daemon.notifications.joined(separator: "\n")), ("failure", failure),
      ]
      for path in ["/v1/status", "/v1/configuration", "/v1/types", "/v1/jobs/one/attempts", "/metrics"] {
        let reply = try await Tool.run(
          "/usr/bin/curl",
          [
            "-sS", "--fail", "--max-time", "30", "-H", "Authorization: Bearer \(token.secret)",
            "http://127.0.0.1:\(try daemon.tcpPort())\(path)",
          ])
        #expect(reply.code == 0 && !reply.output.isEmpty, "\(path)")
        places.append((path, reply.output))
      }
      // The journal names who asked, and neither the token nor its hash.
      let hash = try #require(token.line.split(separator: " ").last).dropFirst("sha256:".count)
      for secret in [inherited, argument, changed, token.secret, String(hash)] {
        for (place, text) in places {
          #expect(!text.contains(secret), "\(secret) is in the \(place)")
        }
      }
    }
  }
}
