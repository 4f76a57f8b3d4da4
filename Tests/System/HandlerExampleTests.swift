import DaemonTesting
import Foundation
import JSONText
import TestSupport
import Testing

extension SystemTests {
  @Suite("The example handlers")
  struct HandlerExamples {
    private static let folder = RepositoryPaths.root.appending(path: "Examples/Handlers")

    private static func root() throws -> DaemonRoot {
      let model = try String(
        contentsOf: folder.appending(path: "Text.xcdatamodeld/Text.xcdatamodel/contents"), encoding: .utf8)
      let root = try DaemonRoot(model: model)
      for name in ["text-lines.conf", "folder-archive.conf"] {
        let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
        let path = folder.path(percentEncoded: false).trimmingSuffix("/")
        try root.write(
          text.replacing("/usr/local/lib/bobbin/handlers", with: path), to: root.paths.handlers + "/" + name)
      }
      return root
    }

    @Test("text_lines.py makes an object of each line, and goes on after a kill")
    func lines() async throws {
      let root = try Self.root()
      let count = 40_000
      try root.payload("text.txt", (1...count).map { "line \($0) äöü\n" }.joined())
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(#"{"type": "text.lines", "id": "t", "arguments": {"input": "text.txt"}}"#, as: "t.json")
      try await daemon.waitForStoreWrites(6)
      try await daemon.kill()
      print("lines when killed: \(try await root.sql("SELECT count(*) FROM Line"))")
      let again = try await DaemonProcess.ready(root)
      try await again.waitUntilSpoolIsEmpty()
      let rows = try await root.sql(
        "SELECT count(*), count(DISTINCT number), min(number), max(number) FROM Line WHERE text = 'line ' || number || ' äöü'"
      )
      #expect(rows == "\(count)|\(count)|1|\(count)")
      let job = try await again.get("/v1/jobs/t")
      #expect(job["result"]?["lines"]?.integer == Int64(count))
    }

    @Test("text_lines.py says what is wrong with its input")
    func badInput() async throws {
      let root = try Self.root()
      try root.write(Data([0x61, 0x0a, 0xff, 0x0a]), to: root.paths.payload + "/bad.txt")
      let daemon = try await DaemonProcess.ready(root)
      let jobs = try await daemon.submit(
        #"{"jobs": [{"type": "text.lines", "arguments": {"input": "none.txt"}}, {"type": "text.lines", "arguments": {"input": "bad.txt"}}]}"#
      )
      let failures = jobs.map { $0["error"]?.string ?? "" }
      #expect(failures[0].hasPrefix("the input can't be read: [Errno 2] No such file or directory: 'none.txt' ("))
      #expect(failures[1].hasPrefix("line 2 of bad.txt is not UTF-8 ("))
      #expect(try await root.sql("SELECT count(*) FROM Line") == "0")
    }

    @Test("folder-archive.sh packs a folder into a file that appears whole")
    func archive() async throws {
      let root = try Self.root()
      try root.payload("folder/a.txt", "a")
      try root.payload("folder/b/c.txt", "c")
      let daemon = try await DaemonProcess.ready(root)
      let jobs = try await daemon.submit(
        #"{"type": "folder.archive", "id": "x", "arguments": {"input": "folder", "output": "out.tar.gz"}}"#)
      #expect(jobs.first?["state"]?.string == "completed", "\(jobs)")
      #expect(jobs.first?["result"]?["bytes"]?.integer ?? 0 > 50)
      let list = try await Tool.run("/bin/tar", ["-tzf", root.paths.payload + "/out.tar.gz"])
      #expect(list.output.split(separator: "\n").sorted() == ["./", "./a.txt", "./b/", "./b/c.txt"])
      let left = try FileManager.default.contentsOfDirectory(atPath: root.paths.payload).sorted()
      #expect(left == ["folder", "out.tar.gz"])
      let missing = try await daemon.submit(
        #"{"type": "folder.archive", "arguments": {"input": "none", "output": "out.tar.gz"}}"#)
      #expect(missing.first?["error"]?.string?.hasPrefix("there is no folder none (") == true)
    }
  }
}

extension String {
  fileprivate func trimmingSuffix(_ suffix: String) -> String {
    hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
  }
}
