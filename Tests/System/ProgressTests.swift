import DaemonTesting
import Foundation
import Glibc
import JSONText
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("The progress of built-in types")
  struct ProgressOfBuiltIns {
    /// Declares a type whose program ends once a line is written to the pipe that is returned.
    private static func declareSlow(_ root: DaemonRoot) throws -> String {
      let gate = root.directory.path("gate")
      try #require(mkfifo(gate, 0o600) == 0)
      try root.write(
        "[Handler]\nType=slow\nExecStart=/bin/sh -c \"read line < \(gate)\"\n", to: root.paths.handlers + "/slow.conf")
      return gate
    }

    @Test("top shows once, without a terminal, what runs and what has failed")
    func top() async throws {
      let root = try DaemonRoot(DaemonRoot.quickFlushes)
      let gate = try Self.declareSlow(root)
      let daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.submit(TestModel.importJob("bad", "none.csv"))
      try root.drop(#"{"type": "slow", "id": "long"}"#, as: "long.json")
      // The program has begun.
      let number = try await onThread { try FileDescriptor.open(gate, .writing).relinquish() }
      let opened = FileDescriptor(owning: number)
      let shown = try await daemon.tool("top", "--once")
      #expect(shown.code == 0, "\(shown.errors)")
      let lines = shown.output.split(separator: "\n")
      #expect(lines.contains { $0.hasPrefix("long ") } && lines.contains { $0.hasPrefix("bad ") }, "\(shown.output)")
      #expect(!shown.output.contains("\u{1b}"))
      try opened.writeAll(Data("go\n".utf8))
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("Who waits for a submission counts its own jobs alone, and is told what came of them, rejects included")
    func waiting() async throws {
      let root = try DaemonRoot(DaemonRoot.quickFlushes)
      let gate = try Self.declareSlow(root)
      let daemon = try await DaemonProcess.ready(root)
      try root.write(#"{"type": "slow", "id": "long"}"#, to: root.directory.path("long.json"))
      async let waiter = daemon.tool("submit", "--wait=60", root.directory.path("long.json"))
      let number = try await onThread { try FileDescriptor.open(gate, .writing).relinquish() }
      let opened = FileDescriptor(owning: number)
      // The same user submits others.
      for id in ["a", "b"] { _ = try await daemon.submit(#"{"type": "noop", "id": "\#(id)"}"#) }
      let file = try await daemon.get("/v1/jobs/long")["file"]?.string ?? ""
      let tag = try #require(file.firstMatch(of: /^submitted-\d+-=long\.json\.([0-9A-F]{32})\./)?.1, "\(file)")
      let own = try await daemon.request(
        "GET", "/v1/jobs", query: ["text": String(tag), "counts": "true"]
      ).body
      #expect(own["counts"] == .object(["running": 1]), "\(own)")
      // The name of the file that was submitted is a handle, and another's end is none.
      #expect(try await daemon.get("/v1/jobs/long.json")["id"] == "long")
      #expect(try await daemon.tool("list", "--file", "long.json", "--count").output == "1\n")
      #expect(try await daemon.request("GET", "/v1/jobs/json").status == 404)
      #expect(try await daemon.tool("hold", "nothing.json").code == 2)
      try opened.writeAll(Data("go\n".utf8))
      #expect(try await waiter.code == 0)
      // A command takes it, too.
      try root.write(#"{"type": "noop", "id": "x", "delay": "1h"}"#, to: root.directory.path("later.json"))
      #expect(try await daemon.tool("submit", root.directory.path("later.json")).code == 0)
      #expect(try await daemon.tool("cancel", "later.json").output == "1 job cancelled\n")
      // What came of an import is no secret.
      try root.payload("bad.csv", "job,number\na,1\nb,x\nc,3\n")
      try root.write(
        TestModel.importJob("rows", root.paths.payload + "/bad.csv").replacing(
          "\"input\"", with: "\"maxRejects\": 5, \"input\""),
        to: root.directory.path("rows.json"))
      let told = try await daemon.tool("submit", "--wait=60", root.directory.path("rows.json"))
      #expect(told.output.contains("inserted 2") && told.output.contains("rejects 1"), "\(told.output)")
      #expect(try await daemon.tool("list", "--type", "import").output.contains("rejects 1"))
      #expect(
        try await daemon.request("POST", "/v1/jobs", query: ["tag": "a b"], body: #"{"type": "noop"}"#).status == 400)
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("An import tells the bytes of both its passes, their rates and times left, and nothing when it is over")
    func importing() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n[Import]\nChunkRows=500\n")
      let text = "job,number\n" + (0..<200_000).map { "big,\($0)\n" }.joined()
      try root.payload("big.csv", text)
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(TestModel.importJob("big", "big.csv"), as: "big.json")
      var seen: [JSONValue] = []
      // It answers while it works; each answer is followed by the next question until the job is over.
      while true {
        let job = try await daemon.request("GET", "/v1/jobs/big")
        if job.status == 404 { continue }
        let state = job.body["state"]?.string
        if state != "available" && state != "running" {
          #expect(state == "completed" && job.body["progress"]?.isNull == true, "\(job.body.serialized())")
          break
        }
        if let progress = job.body["progress"], !progress.isNull { seen.append(progress) }
      }
      let passes = Dictionary(grouping: seen) { $0["message"]?.string?.split(separator: " ").first ?? "" }
      #expect(Set(passes.keys) == ["checking", "importing:"])
      for pass in passes.values {
        #expect(pass.allSatisfy { $0["unit"] == "bytes" && $0["total"]?.integer == Int64(text.utf8.count) })
        let done = pass.compactMap { $0["done"]?.integer }
        #expect(done == done.sorted() && done.last ?? 0 > 0)
        #expect(pass.contains { ($0["ratePerSecond"]?.number ?? 0) > 0 && $0["secondsLeft"]?.number != nil })
      }
      #expect(passes["importing:"]?.last?["message"]?.string?.hasSuffix("00 rows") == true)
    }
  }
}
