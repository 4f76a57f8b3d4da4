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
    @Test("top shows once, without a terminal, what runs and what has failed")
    func top() async throws {
      let root = try DaemonRoot(DaemonRoot.quickFlushes)
      let gate = root.directory.path("gate")
      try #require(mkfifo(gate, 0o600) == 0)
      try root.write(
        "[Handler]\nType=slow\nExecStart=/bin/sh -c \"read line < \(gate)\"\n", to: root.paths.handlers + "/slow.conf")
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
