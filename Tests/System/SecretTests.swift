import DaemonTesting
import Foundation
import Glibc
import PostgresTesting
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

    @Test(
      "The password of a fleet's database is in no log, no list of processes, no program and no status, right or wrong",
      .enabled(if: PostgresCluster.isAvailable()))
    func databasePassword() async throws {
      let database = try PostgresCluster.makeDatabase()
      try database.makeRoleWithPassword()
      let url = database.url.replacing("postgres@", with: "\(PostgresCluster.roleWithPassword)@")
      let root = try DaemonRoot(
        "[Store]\nUrl=\(url)\n[Fleet]\nName=a\n[Log]\nLevel=debug\n" + DaemonRoot.quickFlushes)
      let seen = root.paths.payload + "/seen"
      try root.declare(
        "look",
        """
        { for process in /proc/[0-9]*; do tr '\\0' ' ' <"$process/cmdline"; done; env; } >\(seen) 2>/dev/null
        echo "looked" >&2

        """)
      let (wrong, right) = ("wrong-horse-4711", PostgresCluster.password)
      let file = root.directory.path("passwords")
      func write(_ password: String) throws {
        try root.write("*:*:*:*:\(password)\n", to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
      }
      try write(wrong)
      let refused = try DaemonProcess(root, environment: ["PGPASSFILE": file])
      try await refused.waitForLog("the server refuses the password")
      try? refused.child.killGroup(SIGKILL)
      _ = try await refused.waitForEnd()
      try write(right)
      let daemon = try await DaemonProcess.ready(root, environment: ["PGPASSFILE": file])
      let jobs = try await daemon.submit(#"{"type": "look", "id": "look"}"#)
      #expect(jobs.first?["state"] == "completed")
      let processes = try String(contentsOfFile: seen, encoding: .utf8)
      #expect(processes.contains("bobbind") && processes.contains("BOBBIN_JOB_ID=look"))
      var places = [
        ("log of the refusal", refused.logText), ("log", daemon.logText), ("processes", processes),
        ("manager", (refused.notifications + daemon.notifications).joined(separator: "\n")),
      ]
      for arguments in [["status"], ["fleet"], ["show", "look"], ["log", "look"], ["doctor"]] {
        let tool = try await daemon.tool(arguments)
        places.append((arguments.joined(separator: " "), tool.output + tool.errors))
      }
      for path in ["/v1/status", "/v1/configuration", "/v1/fleet"] {
        places.append((path, try await daemon.get(path).serialized()))
      }
      for (place, text) in places {
        for password in [wrong, right] { #expect(!text.contains(password), "\(password) is in the \(place)") }
      }
    }
  }
}
