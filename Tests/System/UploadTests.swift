import ControlClient
import DaemonTesting
import Foundation
import JSONText
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("Inputs that come with their jobs")
  struct Uploads {
    private static let job = TestModel.importJob("job", "upload:table")
    private static let table = "number,note\n1,a\n2,b\n"

    private func uploads(_ daemon: DaemonProcess) throws -> [FileName] {
      try DaemonRoot.entries(daemon.root.paths.uploads)
    }

    /// Sends a form with curl, which has its own idea of how forms are written.
    private func send(_ daemon: DaemonProcess, _ parts: String..., query: String = "?wait=60") async throws -> JSONValue
    {
      let arguments = ["-sS", "--unix-socket", daemon.root.paths.socket] + parts.flatMap { ["--form", $0] }
      let reply = try await Tool.run("/usr/bin/curl", arguments + ["http://localhost/v1/jobs" + query])
      return try JSONValue(parsing: Array(reply.output.utf8), dialect: .json)
    }

    @Test("They are kept until the job is completed, and a failed job's as long as its file")
    func kept() async throws {
      let root = try DaemonRoot()
      var daemon = try await DaemonProcess.ready(root)
      let files = try TemporaryDirectory()
      let (table, job) = (files.path("private.csv"), files.path("job.json"))
      try root.write(Self.table, to: table)
      try root.write(Self.job, to: job)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: table)
      let first = try await send(daemon, "job=<\(job)", "table=@\(table)")
      #expect(first["jobs"]?.array?.first?["state"] == "completed", "\(first)")
      try await daemon.wait { try $0.root.isSpoolEmpty && uploads($0).isEmpty }
      #expect(try await root.sql("SELECT count(*) FROM Reading") == "2")

      // bobbinctl sends the same. While its queue is paused, a job waits, also for the next start.
      #expect(try await daemon.tool("pause", "--queue", "later").code == 0)
      try root.write(Self.job.replacing(#""id": "job""#, with: #""id": "later", "queue": "later""#), to: job)
      let sent = try await daemon.tool("submit", "--input", "table=\(table)", job)
      #expect(sent.code == 0, "\(sent.errors)")
      let folder = try #require(try uploads(daemon).first?.string)
      #expect(folder.hasPrefix("\(Credentials.effectiveUser)-"))
      let kept = try #require(await daemon.get("/v1/jobs/later")["arguments"]?["input"]?.string)
      #expect(kept.hasPrefix("\(root.paths.uploads)/\(folder)/") && kept.hasSuffix("-table"))
      #expect(try String(contentsOfFile: kept, encoding: .utf8) == Self.table)

      // The same again is known as such, with another table it is another job.
      let again = try await daemon.tool("submit", "--input", "table=\(table)", job)
      #expect(again.code == 0 && again.output.contains("already known"), "\(again)")
      try root.write("number,note\n1,b\n", to: table)
      let other = try await daemon.tool("submit", "--input", "table=\(table)", job)
      #expect(other.code != 0 && other.errors.contains("other arguments"), "\(other)")
      try await daemon.wait { try uploads($0).count == 1 }
      let without = try await daemon.tool("submit", job)
      #expect(without.errors.contains("--input table=FILE"), "\(without)")
      try await daemon.kill()
      // What a crash left behind: a folder that was being received, and one whose file is gone.
      try root.write("x", to: root.paths.uploads + "/.half.tmp/table")
      try root.write("x", to: root.paths.uploads + "/0-5CD5C0B8-6E8B-4C2E-8D0B-4B5D3F8E5A11/table")
      daemon = try await DaemonProcess.ready(root)
      #expect(try uploads(daemon).map(\.description) == [folder])
      #expect(try await daemon.tool("resume", "--queue", "later").code == 0)
      try await daemon.wait { try $0.root.isSpoolEmpty && uploads($0).isEmpty }
      #expect(try await root.sql("SELECT count(*) FROM Reading") == "4")

      // One that fails keeps its inputs, for a retry, beside its file in failed/.
      try root.write("number\n1,2\n", to: table)
      try root.write(Self.job.replacing(#""id": "job""#, with: #""id": "bad""#), to: job)
      let failed = try await daemon.tool("submit", "--wait=60", "--input", "table=\(table)", job)
      #expect(failed.code == 1, "\(failed)")
      #expect(try uploads(daemon).count == 1)
      #expect(try await daemon.stop() == .exited(code: 0))
      daemon = try await DaemonProcess.ready(root)
      #expect(try uploads(daemon).count == 1)
      for file in try root.failedFiles {
        try FileManager.default.removeItem(atPath: "\(root.paths.spoolFailed)/\(file)")
      }
      #expect(try await daemon.stop() == .exited(code: 0))
      daemon = try await DaemonProcess.ready(root)
      #expect(try uploads(daemon).isEmpty)
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("They stay while a job that was put back needs them, whatever becomes of its file")
    func putBack() async throws {
      let root = try DaemonRoot()
      var daemon = try await DaemonProcess.ready(root)
      let files = try TemporaryDirectory()
      let (table, job) = (files.path("bad.csv"), files.path("job.json"))
      try root.write("number\n1,2\n", to: table)
      try root.write(Self.job.replacing(#""id": "job""#, with: #""id": "bad", "queue": "later""#), to: job)
      #expect(try await daemon.tool("submit", "--wait=60", "--input", "table=\(table)", job).code == 1)
      let error = try await daemon.get("/v1/jobs/bad")["error"]?.string
      #expect(try await daemon.tool("pause", "--queue", "later").code == 0)
      #expect(try await daemon.tool("retry", "bad").code == 0)
      for file in try root.failedFiles {
        try FileManager.default.removeItem(atPath: "\(root.paths.spoolFailed)/\(file)")
      }
      for _ in 0..<2 {
        #expect(try await daemon.stop() == .exited(code: 0))
        daemon = try await DaemonProcess.ready(root)
        #expect(try uploads(daemon).count == 1)
      }
      #expect(try await daemon.tool("resume", "--queue", "later").code == 0)
      try await daemon.wait { try uploads($0).isEmpty }
      // It was read once more.
      #expect(try await daemon.get("/v1/jobs/bad")["state"]?.string == "discarded")
      #expect(try await daemon.get("/v1/jobs/bad")["error"]?.string == error)
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("A form that is sent again under its key is known by its inputs")
    func keyed() async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      let files = try TemporaryDirectory()
      let table = files.path("table.csv")
      func send(_ content: String) async throws -> JSONValue {
        try root.write(content, to: table)
        let arguments = ["-sS", "--unix-socket", root.paths.socket, "-H", "Idempotency-Key: k"]
        let parts = ["--form", "job=" + Self.job.replacing(#""id": "job", "#, with: ""), "--form", "table=@\(table)"]
        let reply = try await Tool.run("/usr/bin/curl", arguments + parts + ["http://localhost/v1/jobs?wait=60"])
        return try JSONValue(parsing: Array(reply.output.utf8), dialect: .json)
      }
      let first = try await send(Self.table)
      let job = try #require(first["jobs"]?.array?.first)
      #expect(job["state"] == "completed" && job["repeated"] == false, "\(first)")
      let again = try await send(Self.table)
      let known = try #require(again["jobs"]?.array?.first)
      #expect(known["id"] == job["id"] && known["repeated"] == true, "\(again)")
      #expect(try await send(Self.table + "3,c\n")["error"]?["code"] == "key-reused")
      try await daemon.wait { try $0.root.isSpoolEmpty && uploads($0).isEmpty }
      #expect(try await root.sql("SELECT count(*) FROM Reading") == "2")
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("Inputs that the spool's disk has no room for are refused before they are sent")
    func noRoom() async throws {
      let directory = try TemporaryDirectory()
      let root = try DaemonRoot()
      try FileManager.default.createDirectory(atPath: root.paths.spool, withIntermediateDirectories: true)
      // As much is left for everything else.
      let disk = try SmallDisk(over: root.paths.spool, megabytes: 66)
      let daemon = try await DaemonProcess.ready(root)
      let table = directory.path("table.csv")
      try root.write(
        "number,note\n" + String(repeating: "1,\(String(repeating: "x", count: 98))\n", count: 30_000), to: table)
      let arguments = [
        "-sS", "--unix-socket", root.paths.socket, "--form", "job=\(Self.job)", "--form", "table=@\(table)",
      ]
      let reply = try await Tool.run("/usr/bin/curl", arguments + ["http://localhost/v1/jobs"])
      #expect(reply.output.contains(#""code":"storage-full""#) && reply.output.contains("has no room"), "\(reply)")
      #expect(try uploads(daemon).isEmpty)
      try root.write(Self.table, to: table)
      let small = try await Tool.run("/usr/bin/curl", arguments + ["http://localhost/v1/jobs?wait=60"])
      #expect(small.output.contains(#""state":"completed""#), "\(small)")
      #expect(try await daemon.stop() == .exited(code: 0))
      withExtendedLifetime(disk) {}
    }

    @Test("Forms that are wrong, too large, or cut off leave nothing behind")
    func refused() async throws {
      let root = try DaemonRoot("\(DaemonRoot.quickFlushes)[Spool]\nMaxUploadSize=64K\nMaxUploadBytesPerUser=90K\n")
      let daemon = try await DaemonProcess.ready(root)
      let files = try TemporaryDirectory()
      let table = files.path("table.csv")
      try root.write(Self.table, to: table)
      func code(_ parts: String..., query: String = "") async throws -> String? {
        let arguments = ["-sS", "--unix-socket", root.paths.socket] + parts.flatMap { ["--form", $0] }
        let reply = try await Tool.run("/usr/bin/curl", arguments + ["http://localhost/v1/jobs" + query])
        return try JSONValue(parsing: Array(reply.output.utf8), dialect: .json)["error"]?["code"]?.string
      }
      let job = "job=\(Self.job)"
      #expect(try await code(job) == "invalid-job")
      #expect(try await code(job, "table=@\(table)", "other=@\(table)") == "invalid-job")
      #expect(try await code("table=@\(table)") == "bad-request")
      #expect(try await code(job, job, "table=@\(table)") == "bad-request")
      #expect(try await code(job, "table=@\(table)", "../x=@\(table)") == "bad-request")
      #expect(try await code(job, "table=@\(table)", ".x=@\(table)") == "bad-request")
      #expect(try await code("job={\"type\": 1}", "table=@\(table)") == "invalid-job")
      // Without a form, nothing can have come along.
      let plain = try await daemon.request("POST", "/v1/jobs", body: Self.job).body
      #expect(plain["error"]?["message"]?.string?.contains("--input table=FILE") == true, "\(plain)")
      for input in ["ta\"ble=\(table)", "tablé=\(table)", "job=\(table)", "table=-", "table"] {
        #expect(try await daemon.tool("submit", "--input", input, table).code == 64, "\(input)")
      }
      try root.write(String(repeating: "x", count: 65 << 10), to: table)
      #expect(try await code(job, "table=@\(table)") == "body-too-large")
      // Nobody sends a large form in vain.
      for query in ["?wiat=60", "?wait=long", "?directory=here", "?tag=a%20b"] {
        #expect(try await code(job, "table=@\(table)", query: query) == "bad-request", "\(query)")
      }
      // A client that goes in the middle.
      let client = ControlClient(socketPath: root.paths.socket)
      _ = try? await onThread {
        var pieces = 0
        return try client.send(
          "POST", "/v1/jobs",
          sending: .form(boundary: "b", size: 10_000) { buffer in
            pieces += 1
            if pieces > 1 { return 0 }
            let text = Array("--b\r\nContent-Disposition: form-data; name=\"table\"\r\n\r\nhalf".utf8)
            buffer.copyBytes(from: text)
            return text.count
          }, timeout: .seconds(2))
      }
      try await daemon.wait { try uploads($0).isEmpty }
      // What one user's jobs keep is limited.
      #expect(try await daemon.tool("pause").code == 0)
      try root.write("number\n" + String(repeating: "1\n", count: 25_000), to: table)
      #expect(try await code(job, "table=@\(table)") == nil)
      let second = job.replacing(#""id": "job""#, with: #""id": "second""#)
      #expect(try await code(second, "table=@\(table)") == "quota")
      #expect(try uploads(daemon).count == 1)
      #expect(try await daemon.get("/v1/jobs/second")["error"]?["code"] == "not-found")
      // A failed file that was removed by hand is found out about when its room is needed.
      #expect(try await daemon.tool("cancel", "job").code == 0)
      try await daemon.wait { try $0.root.isSpoolEmpty && uploads($0).isEmpty }
      #expect(try await daemon.tool("resume").code == 0)
      try root.write("number\n" + String(repeating: "x\n", count: 25_000), to: table)
      #expect(try await code(second, "table=@\(table)") == nil)
      try await daemon.wait { try $0.root.failedFiles.count == 2 }
      for file in try root.failedFiles {
        try FileManager.default.removeItem(atPath: "\(root.paths.spoolFailed)/\(file)")
      }
      // Unless the daemon has looked there meanwhile, the first try finds it out, and the next is accepted.
      if try await code(second, "table=@\(table)") == "quota" {
        try await daemon.wait { try uploads($0).isEmpty }
        #expect(try await code(second, "table=@\(table)") == nil)
      }
      #expect(try await daemon.stop() == .exited(code: 0))
    }
  }
}
