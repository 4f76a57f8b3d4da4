import DaemonTesting
import Foundation
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("An import that the daemon's stop meets")
  struct ImportStop {
    private static let rows = 60_000

    @Test("ends at its next chunk, and goes on there at the next start; one in a single transaction is waited for")
    func stopped() async throws {
      let root = try DaemonRoot(DaemonRoot.quickFlushes + "[Import]\nChunkRows=100\n")
      try root.payload("in.csv", "number\n" + (1...Self.rows).map { "\($0)\n" }.joined())
      var daemon = try await DaemonProcess.ready(root)
      try root.drop(TestModel.importJob("long", "in.csv"), as: "long.json")
      try await daemon.wait { try $0.root.currentFiles == ["long.json"] }
      try await daemon.waitForStoreWrites(100)
      let running = try await daemon.get("/v1/jobs/long")
      #expect(running["state"] == "running" && running["startedAt"]?.string?.hasPrefix("20") == true, "\(running)")
      #expect(try await daemon.stop() == .exited(code: 0))
      #expect(daemon.logText.contains("was interrupted by the daemon's end"), "\(daemon.logText)")
      let state = try await root.sql("SELECT state, cursor IS NOT NULL FROM Job")
      #expect(state == "available|1" || state == "running|1", "\(state)")
      let count = try #require(Int(try await root.sql("SELECT count(*) FROM Reading")))
      #expect(0 < count && count < Self.rows && count % 100 == 0)

      daemon = try await DaemonProcess.ready(root)
      try await daemon.waitUntilSpoolIsEmpty()
      let table = try await root.sql("SELECT count(*), count(DISTINCT number), min(number), max(number) FROM Reading")
      #expect(table == "60000|60000|1|60000")
      #expect(try await root.sql("SELECT state FROM Job") == "completed")

      let mirror = TestModel.importJob("whole", "in.csv").replacing("\"entity\"", with: "\"atomic\": true, \"entity\"")
      try root.drop(mirror, as: "whole.json")
      try await daemon.wait { try $0.root.currentFiles == ["whole.json"] }
      #expect(try await daemon.stop() == .exited(code: 0))
      #expect(try await root.sql("SELECT state FROM Job WHERE id = 'whole'") == "completed")
    }
  }
}
