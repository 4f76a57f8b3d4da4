import DaemonTesting
import Foundation
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("A daemon that is killed loses nothing and does nothing twice")
  struct Crashes {
    @Test("500 jobs survive 20 kills at random moments: each has its effects once, and the spool is empty")
    func kills() async throws {
      var random = SeededGenerator(seed: 20_261_121)
      let (jobCount, killCount) = (500, 20)
      let root = try DaemonRoot(DaemonRoot.quickFlushes + "[Store]\nExternalDataThreshold=1K\n[Import]\nChunkRows=2\n")
      try root.write(try await TestPicture.jpeg(), to: root.paths.payload + "/in.jpg")
      let start = ContinuousClock.now
      var dropped = 0
      var hits = 0
      for kill in 0..<killCount {
        let share = (kill + 1) * jobCount / killCount
        let daemon = try DaemonProcess(root)
        let before = root.currentWatch.counts
        // Files arrive while the daemon starts, and while it works.
        for number in dropped..<share { try drop(number, root) }
        let isClaim = Bool.random(using: &random)
        let count = Int.random(in: 1...(share - dropped), using: &random)
        dropped = share
        try await daemon.wait { _ in
          let now = root.currentWatch.counts
          return isClaim ? now.came - before.came >= count : now.left - before.left >= count
        }
        try await daemon.kill()
        if try !root.isSpoolEmpty { hits += 1 }
      }
      let daemon = try await DaemonProcess.ready(root)
      try await daemon.waitUntilSpoolIsEmpty()
      let end = try await daemon.stop()
      #expect(end == .exited(code: 0), "\(daemon.logText)")
      print("\(jobCount) jobs, \(killCount) kills, \(hits) of them with work in the spool: \(start.duration(to: .now))")
      #expect(hits >= killCount / 2)
      try await expectEachOnce(root, jobCount)
    }

    private enum Kind { case noop, table, picture }

    private static func kind(_ number: Int) -> Kind {
      number % 5 == 4 ? .picture : number % 2 == 0 ? .table : .noop
    }

    private static func rowCount(_ number: Int) -> Int { 1 + number % 7 }

    private func drop(_ number: Int, _ root: DaemonRoot) throws {
      let id = "job-\(number)"
      switch Self.kind(number) {
      case .noop: try root.drop(#"{"type": "noop", "id": "\#(id)"}"#, as: FileName("\(id).json"))
      case .table:
        let rows = (0..<Self.rowCount(number)).map { "\(id),\($0)\n" }.joined()
        try root.payload("\(id).csv", "job,number\n" + rows)
        try root.drop(TestModel.importJob(id, "\(id).csv"), as: FileName("\(id).json"))
      case .picture:
        let job = #"""
          {"type": "image.encode", "id": "\#(id)", "arguments": {"input": "in.jpg",
            "outputs": [{"path": "\#(id).png", "width": 40}, {"path": "\#(id)-small.png", "width": 8}],
            "store": {"title": "\#(id)"}}}
          """#
        try root.drop(job, as: FileName("\(id).json"))
      }
    }

    private func expectEachOnce(_ root: DaemonRoot, _ jobCount: Int) async throws {
      let jobs = try await root.sql("SELECT id, state FROM Job ORDER BY id")
      #expect(jobs == (0..<jobCount).map { "job-\($0)" }.sorted().map { $0 + "|completed" }.joined(separator: "\n"))
      // In the order of the texts, as SQL has them.
      let numbers = (0..<jobCount).filter { Self.kind($0) == .table }.sorted { "job-\($0)" < "job-\($1)" }
      let rows = try await root.sql(
        "SELECT job, count(*), count(DISTINCT number), min(number), max(number) FROM Reading GROUP BY job ORDER BY job")
      let expected = numbers.map { number in
        let count = Self.rowCount(number)
        return "job-\(number)|\(count)|\(count)|0|\(count - 1)"
      }
      #expect(rows == expected.joined(separator: "\n"))
      let pictures = (0..<jobCount).filter { Self.kind($0) == .picture }
      let images = try await root.sql("SELECT title FROM Image ORDER BY title")
      #expect(images == pictures.map { "job-\($0)" }.sorted().joined(separator: "\n"))
      let blobs = try await root.sql("SELECT count(*) FROM ImageBlob WHERE _key IN (SELECT blob FROM Image)")
      #expect(blobs == "\(pictures.count)")
      for number in pictures {
        for name in ["job-\(number).png", "job-\(number)-small.png"] {
          let isWhole = try TestPicture.isWholePNG(root.paths.payload + "/" + name)
          #expect(isWhole, "\(name)")
        }
      }
      let check = try await root.sql("PRAGMA integrity_check")
      #expect(check == "ok")
      let failed = try root.failedFiles
      #expect(failed == [])
      let hidden = try Directory(path: root.paths.payload).entries().filter(\.isHidden)
      #expect(hidden == [], "temporary output files were left behind")
    }

    @Test("A large import that is killed again and again gives the same table as one that is not")
    func largeImport() async throws {
      let rowCount = 200_000
      let text = (0..<rowCount).reduce(into: "job,number,note\n") { text, row in
        text += "big,\(row),\"row, \(row &* 2_654_435_761 % 1_000_003)\"\n"
      }
      let configuration = DaemonRoot.quickFlushes + "[Import]\nChunkRows=1000\n"
      let summary = """
        SELECT count(*), count(DISTINCT number), sum(number), sum(length(note)), min(note), max(note),
        sum(CAST(substr(note, 6) AS INTEGER) * (number % 1009)) FROM Reading
        """
      let quiet = try DaemonRoot(configuration)
      try quiet.payload("big.csv", text)
      let undisturbed = try await DaemonProcess.ready(quiet)
      let start = ContinuousClock.now
      _ = try await undisturbed.submit(TestModel.importJob("big", "big.csv"), seconds: 120)
      print("\(rowCount) rows undisturbed: \(start.duration(to: .now))")
      let end = try await undisturbed.stop()
      #expect(end == .exited(code: 0))
      let expected = try await quiet.sql(summary)
      #expect(expected.hasPrefix("\(rowCount)|\(rowCount)|"))

      let root = try DaemonRoot(configuration)
      try root.payload("big.csv", text)
      try root.drop(TestModel.importJob("big", "big.csv"), as: "big.json")
      var counts: [Int] = []
      var random = SeededGenerator(seed: 7)
      for _ in 1...4 {
        let daemon = try await DaemonProcess.ready(root)
        try await daemon.waitForStoreWrites(.random(in: 5...40, using: &random))
        try await daemon.kill()
        counts.append(Int(try await root.sql("SELECT count(*) FROM Reading")) ?? -1)
      }
      print("rows on disk after each kill: \(counts)")
      #expect(counts == counts.sorted())
      #expect(counts.contains { $0 > 0 && $0 < rowCount })
      let daemon = try await DaemonProcess.ready(root)
      try await daemon.waitUntilSpoolIsEmpty(seconds: 120)
      let result = try await root.sql(summary)
      #expect(result == expected)
      let state = try await root.sql("SELECT id, state FROM Job")
      #expect(state == "big|completed")
      let check = try await root.sql("PRAGMA integrity_check")
      #expect(check == "ok")
    }

    @Test(
      "An import whose input changes meanwhile leaves no row, even if the daemon is killed while it takes them back")
    func changedInput() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n[Import]\nChunkRows=500\n")
      let rowCount = 60_000
      let input = root.paths.payload + "/big.csv"
      let text = "job,number\n" + (0..<rowCount).map { "big,\($0)\n" }.joined()
      try root.write(text, to: input)
      try root.drop(TestModel.importJob("big", "big.csv"), as: "big.json")
      let daemon = try await DaemonProcess.ready(root)
      let state = try FolderWatch([root.paths.state]) { root.changes.note() }
      try await daemon.wait { _ in try state.counts.changed >= 5 || root.isSpoolEmpty }
      // The same size, so that only its time tells.
      try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: input)
      try await daemon.root.changes.wait { try daemon.end != nil || root.isSpoolEmpty || state.counts.changed >= 60 }
      try await daemon.kill()
      print("rows when killed: \(try await root.sql("SELECT count(*) FROM Reading"))")
      let again = try await DaemonProcess.ready(root)
      try await again.waitUntilSpoolIsEmpty(seconds: 120)
      let result = try await root.sql("SELECT state FROM Job; SELECT count(*) FROM Reading")
      #expect(["discarded\n0", "completed\n\(rowCount)"].contains(result), "\(again.logText)")
    }

    @Test("An import whose input changes meanwhile is given up, and leaves no row")
    func givenUp() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n[Import]\nChunkRows=500\n")
      let input = root.paths.payload + "/big.csv"
      try root.write("job,number\n" + (0..<400_000).map { "big,\($0)\n" }.joined(), to: input)
      try root.drop(TestModel.importJob("big", "big.csv"), as: "big.json")
      let daemon = try await DaemonProcess.ready(root)
      // Each durable job is the end of a flush.
      while try await root.sql("SELECT count(*) FROM Reading") == "0" {
        _ = try await daemon.submit(#"{"type": "noop"}"#)
      }
      try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: input)
      try await daemon.waitUntilSpoolIsEmpty()
      let result = try await root.sql("SELECT state FROM Job WHERE id = 'big'; SELECT count(*) FROM Reading")
      #expect(result == "discarded\n0")
      let reason = try root.reason("big.json")
      #expect(reason == "big.json: big: the input \(input) was changed while it was imported\n")
    }
  }
}
