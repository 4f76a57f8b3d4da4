import DaemonTesting
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("The copy of the store for other programs")
  struct PublishedCopy {
    private let root: DaemonRoot
    private let place: TemporaryDirectory
    private var path: String { place.path("jobs.sqlite") }

    init() throws {
      root = try DaemonRoot()
      place = try TemporaryDirectory()
    }

    private func configure(_ keys: String) throws {
      try root.configure(DaemonRoot.quickFlushes + "[Store]\nExternalDataThreshold=1K\n" + keys)
    }

    private func inode() throws -> UInt64 { try Directory(path: place.path).status(of: "jobs.sqlite").inode }

    private func jobs(as user: OtherUser? = nil) async throws -> String {
      let arguments = ["-init", "/dev/null", "-readonly", path, "PRAGMA journal_mode; SELECT id FROM Job ORDER BY id"]
      let tool: Tool
      if let user {
        tool = try await user.run("/usr/bin/sqlite3", arguments)
      } else {
        tool = try await Tool.run("/usr/bin/sqlite3", arguments)
      }
      return (tool.output + tool.errors).split(separator: "\n").joined(separator: " ")
    }

    @Test("is made at the start, on request if something has changed, and after the interval, and others read it")
    func refreshed() async throws {
      try configure("CopyPath=\(path)\nCopyIntervalSec=1h\nCopyMode=644\n")
      try root.payload("in.jpg", try await TestPicture.jpeg())
      let daemon = try await DaemonProcess.ready(root)
      let changes = root.changes
      let watch = try FolderWatch([place.path]) { changes.note() }
      let file = path
      try await daemon.wait { _ in FileManager.default.fileExists(atPath: file) }
      _ = try await daemon.submit(
        #"""
        {"jobs": [{"type": "noop", "id": "one"}, {"type": "image.encode", "id": "picture", "arguments": {"input": "in.jpg",
          "outputs": [{"path": "out.png", "width": 90}], "store": {"title": "kept"}}}]}
        """#)
      #expect(try await daemon.tool("refresh-copy").code == 0)
      #expect(try await jobs() == "delete one picture")
      if SkipReason.runsAsRoot() {
        try #require(chmod(place.path, 0o755) == 0)
        let jobs = try await jobs(as: .stranger)
        #expect(jobs == "delete one picture", "\(jobs)")
      }
      let values = try Directory(path: place.path("jobs_files"))
      #expect(try values.status().mode == 0o755)
      let value = try #require(try values.entries().first)
      #expect(try values.entries().count == 1 && values.status(of: value).mode == 0o644)
      let first = try inode()
      #expect(try await daemon.tool("refresh-copy").code == 0)
      #expect(try inode() == first)
      #expect(try await daemon.tool("status").output.contains(path))

      try configure("CopyPath=\(path)\nCopyIntervalSec=1s\n")
      try await daemon.reload()
      _ = try await daemon.submit(#"{"type": "noop", "id": "two"}"#)
      while true {
        let made = watch.counts
        if try await jobs().contains("two") { break }
        try await daemon.wait { _ in watch.counts != made }
      }
      #expect(try Self.mode(file) == 0o640)
      // An earlier copy's large values stay for those who have it open; there are no others.
      #expect(try values.entries() == [value])
      #expect(try await daemon.stop() == .exited(code: 0))
      #expect(try Directory(path: place.path).entries().sorted() == ["jobs.sqlite", "jobs_files"])
    }

    private static func mode(_ path: String) throws -> UInt32 {
      let url = URL(filePath: path)
      return try Directory(path: url.deletingLastPathComponent().path).status(of: FileName(url.lastPathComponent)).mode
    }

    @Test("never takes the place of something else, and an error is told without ending the daemon")
    func refused() async throws {
      try configure("")
      let daemon = try await DaemonProcess.ready(root)
      let none = try await daemon.tool("refresh-copy")
      #expect(none.code == 65 && none.errors.contains("set [Store] CopyPath="), "\(none.errors)")
      try root.write("precious", to: path)
      try configure("CopyPath=\(path)\nCopyIntervalSec=0\n")
      try await daemon.reload()
      let other = try await daemon.tool("refresh-copy")
      #expect(other.code == 75 && other.errors.contains("is no store"), "\(other.errors)")
      #expect(try String(contentsOfFile: path, encoding: .utf8) == "precious")
      try configure("CopyPath=\(place.path("none/jobs.sqlite"))\nCopyIntervalSec=1s\n")
      try await daemon.reload()
      try await daemon.waitForLog("the copy of the store for other programs can't be made")
      try await daemon.wait { $0.managerStatus?.contains("the copy of the store can't be made") == true }
      #expect(try await daemon.request("GET", "/healthz").status == 200)
      _ = try await daemon.submit(#"{"type": "noop", "id": "one"}"#)
      try #require(mkdir(place.path("none"), 0o755) == 0)
      #expect(try await daemon.tool("refresh-copy").code == 0)
      #expect(try await daemon.get("/v1/status")["copy"]?["problem"]?.isNull == true)
      #expect(try await daemon.stop() == .exited(code: 0))
      try configure("CopyPath=\(root.paths.state)/copy.sqlite\n")
      let tool = try await Tool.run("bobbind", ["--root", root.directory.path, "--check-config"])
      #expect(tool.code == 78 && (tool.output + tool.errors).contains("closed to other users"))
    }
  }
}
