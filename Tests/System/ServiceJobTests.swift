import DaemonTesting
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("Job types served at a Unix socket")
  struct ServiceJobs {
    /// Declares a type that a script serves; the script's folder is that of the root.
    private func declare(_ script: String, _ settings: String = "", in root: DaemonRoot) throws {
      try root.write(script, to: root.directory.path("serve.sh"))
      try root.write(
        "[Handler]\nType=served\nConnect=\(socket(root))\n\(settings)\n", to: root.paths.handlers + "/served.conf")
    }

    private func socket(_ root: DaemonRoot) -> String { root.directory.path("run/handlers/served.sock") }

    private func listen(_ root: DaemonRoot, refusals: Int = 0) throws -> ProgramListener {
      try FileManager.default.createDirectory(
        atPath: root.directory.path("run/handlers"), withIntermediateDirectories: true)
      return try ProgramListener(
        socket(root), "/bin/sh", ["serve.sh"], folder: root.directory.path, refusals: refusals)
    }

    @Test("A service that is down holds the type, which costs no attempt, and is told; it goes on with the socket")
    func down() async throws {
      let root = try DaemonRoot()
      try declare(
        #"""
        id=$(jq -r .id)
        echo '{"insert": {"entity": "Reading", "values": {"job": "'$id'", "number": 1}}}'
        echo '{"result": {"count": 1}}'
        """#, "MaxAttempts=1", in: root)
      let reason =
        "the service at \(socket(root)) can't be reached: open \"\(socket(root))\": No such file or directory (ENOENT)"
      let check = try await Tool.run("bobbind", ["--root", root.directory.path, "--check-config"])
      #expect(check.code == 0)
      #expect(
        check.errors.contains(
          "served.conf:3: [Handler] Connect=\(socket(root)): jobs of the type wait, as the service can't be reached: open"
        ), "\(check.errors)")
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(#"{"jobs": [{"type": "served", "id": "a"}, {"type": "served", "id": "b"}]}"#, as: "jobs.json")
      try await daemon.wait {
        $0.managerStatus?.hasPrefix("taking jobs; the type \"served\" is held: \(reason)") == true
      }
      // While it is tried again it is not held, for a moment each time.
      try await daemon.poll(seconds: 60) {
        try await daemon.tool("status").output.contains("the type \"served\": \(reason)")
      }
      try await daemon.poll(seconds: 60) { try await daemon.tool("why", "b").output.contains(reason) }
      // As a socket unit is started, by systemd's own program for that.
      try FileManager.default.createDirectory(
        atPath: root.directory.path("run/handlers"), withIntermediateDirectories: true)
      let activation = try ChildProcess.start(
        ChildLaunch(
          executable: "/usr/bin/systemd-socket-activate",
          arguments: ["--accept", "--inetd", "--listen", socket(root), "/bin/sh", root.directory.path("serve.sh")],
          environment: ["PATH": "/usr/bin:/bin"]))
      try await daemon.waitUntilSpoolIsEmpty()
      let rows = try await root.sql("SELECT id, state, attempt, maxAttempts FROM Job ORDER BY id")
      #expect(rows == "a|completed|1|1\nb|completed|1|1")
      #expect(try await root.sql("SELECT job, number FROM Reading ORDER BY job") == "a|1\nb|1")
      let log = try await daemon.tool("log", "a").output
      #expect(log.contains("served by process "), "\(log)")
      _ = try await activation.stop(grace: .zero)
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("Connections that are closed at once cost no attempt; one that has read the job does")
    func closedAtOnce() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=20ms\n[Jobs]\nBackoffBaseSec=1ms\n")
      try declare("jq -r .attempt >number; read n <number; [ $n = 1 ] || echo '{\"result\": {}}'", in: root)
      let listener = try listen(root, refusals: 2)
      let daemon = try await DaemonProcess.ready(root)
      let jobs = try await daemon.submit(#"{"type": "served", "id": "a", "maxAttempts": 2}"#)
      #expect(jobs.first?["state"]?.string == "completed", "\(jobs)")
      #expect(try await root.sql("SELECT attempt, maxAttempts FROM Job") == "2|2")
      #expect(listener.count == 4)
      let attempts = try await daemon.get("/v1/jobs/a/attempts")["attempts"]?.array ?? []
      #expect(attempts.first?["error"]?.string?.contains("closed the connection without a result") == true)
    }

    @Test("One that dies while it reads a large job costs an attempt, so that it does not hold the type for ever")
    func dyingReader() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=20ms\n[Jobs]\nBackoffBaseSec=1ms\n")
      try declare("head -c 400000 >read", in: root)
      let listener = try listen(root)
      let daemon = try await DaemonProcess.ready(root)
      let text = String(repeating: "x", count: 900_000)
      let jobs = try await daemon.submit(
        #"{"type": "served", "id": "a", "maxAttempts": 2, "arguments": {"text": "\#(text)"}}"#)
      #expect(jobs.first?["state"]?.string == "discarded", "\(jobs.first?["state"]?.string ?? "")")
      #expect(listener.count == 2)
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("A kill of the daemon closes the connection, and the next goes on at the checkpoint, nothing twice")
    func killed() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=20ms\n")
      try declare(
        #"""
        insert() { echo '{"insert": {"entity": "Reading", "values": {"job": "long", "number": '$1'}}}'; }
        case $(cat) in
        *'"cursor":null'*) insert 1; insert 2; echo '{"checkpoint": "2"}'; insert 3
          echo > \#(root.paths.payload)/ready; while echo on; do sleep 0.05; done ;;
        *'"cursor":"2"'*) insert 3; insert 4; echo '{"result": {}}' ;;
        esac
        """#, in: root)
      let listener = try listen(root)
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(#"{"type": "served", "id": "long"}"#, as: "long.json")
      try await daemon.wait { FileManager.default.fileExists(atPath: $0.root.paths.payload + "/ready") }
      try await daemon.waitForCheckpoint()
      try await daemon.kill()
      let again = try await DaemonProcess.ready(root)
      try await again.waitUntilSpoolIsEmpty()
      #expect(try await root.sql("SELECT number FROM Reading ORDER BY number") == "1\n2\n3\n4")
      #expect(try await root.sql("SELECT state, attempt FROM Job WHERE id = 'long'") == "completed|2")
      #expect(listener.count == 2)
    }

    @Test("One that never answers is left at TimeoutSec, and a cancelled one at once")
    func noAnswer() async throws {
      let root = try DaemonRoot()
      try declare(
        "echo >\(root.paths.payload)/$(jq -r .id); mkfifo held 2>/dev/null; exec cat held",
        "TimeoutSec=300ms\nMaxAttempts=1", in: root)
      let listener = try listen(root)
      let daemon = try await DaemonProcess.ready(root)
      let jobs = try await daemon.submit(#"{"type": "served", "id": "a"}"#)
      #expect(jobs.first?["state"]?.string == "discarded")
      #expect(jobs.first?["error"]?.string == "it took longer than 300ms")
      try root.drop(#"{"type": "served", "id": "b", "timeout": "1h"}"#, as: "b.json")
      try await daemon.wait { FileManager.default.fileExists(atPath: $0.root.paths.payload + "/b") }
      #expect(try await daemon.tool("cancel", "b").code == 0)
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try await daemon.get("/v1/jobs/b")["state"]?.string == "cancelled")
      // Ends those who wait for a writer.
      _ = try FileDescriptor.open(root.directory.path("held"), .readingAndWriting)
      #expect(listener.count == 2)
    }
  }
}
