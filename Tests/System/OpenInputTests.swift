import ControlClient
import DaemonTesting
import Foundation
import Glibc
import JSONText
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("Inputs that come as open files")
  struct OpenInputs {
    private static let job = TestModel.importJob("job", "upload:table")
    private static let table = "number,note\n1,a\n2,b\n"

    /// Submits a job with open files, and returns the code of the error.
    private func send(
      _ daemon: DaemonProcess, _ files: [Int32], names: String = "table", job: String = Self.job, wait: Int = 60
    ) async throws -> String? {
      let path = daemon.root.paths.socket
      let reply = try await onThread {
        try ControlClient(socketPath: path).send(
          "POST", "/v1/jobs", query: [.init(name: "descriptors", value: names), .init(name: "wait", value: "\(wait)")],
          sending: .json(Data(job.utf8)),
          greet: { (try? DescriptorSocket.send(Data("\r\n".utf8), descriptors: files, over: $0)) != nil },
          timeout: .seconds(90))
      }
      return try JSONValue(parsing: Array(reply.body))["error"]?["code"]?.string
    }

    @Test("They are copied, although nobody could open them by a path, and whoever passed them may write on")
    func copied() async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      let files = try TemporaryDirectory()
      let path = files.path("table.csv")
      try root.write(Self.table, to: path)
      let file = try FileDescriptor.open(path)
      try FileManager.default.removeItem(atPath: path)
      #expect(try await daemon.tool("pause").code == 0)
      let later = Self.job.replacing(#""id": "job""#, with: #""id": "later""#)
      #expect(try await send(daemon, [file.number], job: later, wait: 0) == nil)
      let kept = try #require(await daemon.get("/v1/jobs/later")["arguments"]?["input"]?.string)
      #expect(kept.hasPrefix(root.paths.uploads + "/") && kept.hasSuffix("-table"))
      #expect(try String(contentsOfFile: kept, encoding: .utf8) == Self.table)
      #expect(try await daemon.tool("resume").code == 0)
      try await daemon.wait { try $0.root.isSpoolEmpty && DaemonRoot.entries(root.paths.uploads).isEmpty }
      #expect(try await root.sql("SELECT count(*) FROM Reading") == "2")
      // In a form, the same is known.
      try root.write(Self.table, to: path)
      let form = ["-sS", "--unix-socket", root.paths.socket, "--form", "job=\(later)", "--form", "table=@\(path)"]
      let again = try await Tool.run("/usr/bin/curl", form + ["http://x/v1/jobs"]).output
      #expect(again.contains(#""repeated":true"#), "\(again)")
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("What is no file opened for reading, has another name or is too large is refused, and leaves nothing behind")
    func refused() async throws {
      let root = try DaemonRoot("\(DaemonRoot.quickFlushes)[Spool]\nMaxUploadSize=64K\nMaxUploadBytesPerUser=90K\n")
      let daemon = try await DaemonProcess.ready(root)
      let files = try TemporaryDirectory()
      let path = files.path("table.csv")
      try root.write(Self.table, to: path)
      let good = try FileDescriptor.open(path)
      let writeOnly = FileDescriptor(owning: try systemCall("open") { Glibc.open(path, O_WRONLY | O_CLOEXEC) })
      let pathOnly = FileDescriptor(owning: try systemCall("open") { Glibc.open(path, 0o10_000_000 | O_CLOEXEC) })
      let folder = FileDescriptor(owning: try systemCall("open") { Glibc.open(files.path, O_RDONLY | O_CLOEXEC) })
      let pipe = try FileDescriptor.pipe()
      let kernel = try FileDescriptor.open("/proc/version")
      for bad in [kernel.number, writeOnly.number, pathOnly.number, folder.number, pipe.first.number] {
        #expect(try await send(daemon, [bad]) == "bad-descriptor", "\(bad)")
      }
      #expect(try await send(daemon, [good.number], names: "table,other") == "bad-descriptor")
      #expect(try await send(daemon, [good.number, good.number]) == "bad-descriptor")
      #expect(try await send(daemon, [good.number, good.number], names: "table,table") == "bad-request")
      #expect(try await send(daemon, [good.number], names: "../x") == "bad-request")
      #expect(try await send(daemon, [good.number], names: "other") == "invalid-job")
      let plain = try await daemon.request("POST", "/v1/jobs", query: ["descriptors": "table"], body: Self.job)
      #expect(plain.status == 400 && plain.body["error"]?["code"] == "bad-descriptor")
      let large = try FileDescriptor.inMemory(named: "large")
      try large.truncate(to: 65 << 10)
      #expect(try await send(daemon, [large.number]) == "body-too-large")
      try large.truncate(to: 60 << 10)
      #expect(try await send(daemon, [large.number, large.number], names: "table,second") == "body-too-large")
      let form = ["-sS", "--unix-socket", root.paths.socket, "--form", "job=\(Self.job)"]
      let both = try await Tool.run("/usr/bin/curl", form + ["http://x/v1/jobs?descriptors=table"]).output
      #expect(both.contains(#""code":"bad-request""#), "\(both)")
      try await daemon.wait { try DaemonRoot.entries($0.root.paths.uploads).isEmpty }
      #expect(try await daemon.get("/v1/jobs")["count"] == 0)
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("bobbinctl opens a file that only its user can reach, and a job imports it")
    func imported() async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      let files = try TemporaryDirectory()
      try root.write(Self.table, to: files.path("private table.csv"))
      // The daemon's own working directory is another one.
      let program = try RepositoryPaths.executable("bobbinctl").path(percentEncoded: false)
      let script =
        #"cd "$1" && exec "$2" --root "$3" import "/proc/self/cwd/private table.csv" --entity=Reading --wait"#
      let run = try await Tool.run("/bin/sh", ["-c", script, "sh", files.path, program, root.directory.path])
      #expect(run.code == 0 && run.errors.contains("so it is sent along"), "\(run)")
      #expect(try await root.sql("SELECT number, note FROM Reading ORDER BY number") == "1|a\n2|b")
      try await daemon.wait { try $0.root.isSpoolEmpty && DaemonRoot.entries(root.paths.uploads).isEmpty }
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test(
      "A disk that takes its time over an input, or lines, makes nobody else wait for a reply",
      arguments: [("uploads/.", "table=@"), ("cur/.", "")])
    func slowDisk(part: String, form: String) async throws {
      let disk = try await SlowDisk(writing: part)
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root, environment: disk.environment)
      let files = try TemporaryDirectory()
      let path = files.path("table.csv")
      try root.write(form.isEmpty ? "{\"type\": \"noop\"}\n" : Self.table, to: path)
      let body =
        form.isEmpty
        ? ["--data-binary", "@\(path)", "-H", "Content-Type: application/x-ndjson"]
        : ["--form", "job=\(Self.job)", "--form", form + path]
      let arguments = ["-sS", "--unix-socket", root.paths.socket] + body + ["http://x/v1/jobs?wait=60"]
      async let sent = Tool.run("/usr/bin/curl", arguments)
      try await disk.waitForWrite()
      // The disk stands still until they are answered.
      for _ in 0..<20 { #expect(try await daemon.request("GET", "/v1/whoami").status == 200) }
      try await disk.open()
      let reply = try JSONValue(parsing: Array(try await sent.output.utf8))
      #expect(reply["jobs"]?.array?.first?["state"] == "completed", "\(reply)")
      #expect(try await daemon.stop() == .exited(code: 0))
    }
  }
}
