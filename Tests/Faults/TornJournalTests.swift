import DaemonTesting
import Foundation
import SystemSupport
import TestSupport
import Testing

extension FaultTests {
  @Suite("Torn write-ahead logs")
  struct TornJournals {
    @Test(
      "The daemon opens what is whole of a torn log or refuses it clearly, and never begins anew",
      .timeLimit(.minutes(60)))
    func torn() async throws {
      let trial = try await Trial.fresh(kinds: [.noop, .table, .picture, .badTable, .chain])
      let template = try await template(trial)
      let (wal, copy) = (
        try Data(contentsOf: template.url.appending(path: "bobbin.sqlite-wal")), try TemporaryDirectory()
      )
      var figures = FaultFigures("torn write-ahead logs of \(wal.count) bytes")
      var opened = 0
      for tear in 0..<FaultPlan.count("TEARS", short: 12, whole: 500) {
        let (torn, kind) = self.tear(wal, trial)
        let comment = Comment(rawValue: "log \(tear), \(kind), seed \(FaultPlan.seed)")
        let known = try await whole(template, torn, copy, trial, comment)
        try restore(template, torn, to: trial.root.paths.state)
        let daemon = try DaemonProcess(trial.root)
        try await trial.root.changes.wait { try daemon.end != nil || daemon.notifications.contains("READY=1") }
        if let end = try daemon.end {
          // A refusal says what is wrong with which file.
          #expect(end == .exited(code: 78) || end == .exited(code: 74), comment)
          #expect(daemon.logText.contains(trial.root.paths.store), "\(comment) \(daemon.logText)")
        } else {
          opened += 1
          let count = Int(try await trial.root.sql("SELECT count(*) FROM Job")) ?? -1
          if count < known { figures.losses += 1 }
          #expect(count >= known, comment)
          try await daemon.kill()
        }
        figures.faults += 1
        if torn != wal { figures.struck += 1 }
      }
      figures.jobs = trial.ledger.jobCount
      figures.tell("\(opened) opened, \(figures.faults - opened) refused")
    }

    /// A store that a killed daemon has left, with much in its log.
    private func template(_ trial: Trial) async throws -> TemporaryDirectory {
      let daemon = try await DaemonProcess.ready(trial.root)
      try trial.drop(files: 40)
      try await daemon.waitUntilSpoolIsEmpty()
      try await daemon.kill()
      let template = try TemporaryDirectory()
      try restore(trial.root.paths.state, to: template.path)
      return template
    }

    private func tear(_ wal: Data, _ trial: Trial) -> (Data, String) {
      var torn = wal
      let sectors = wal.count / 512
      func sector(_ number: Int) -> Range<Int> { number * 512..<(number + 1) * 512 }
      switch trial.random(in: 0...2) {
      case 0: return (wal.prefix(trial.random(in: 0...wal.count)), "truncated")
      case 1:
        let first = trial.random(in: 0...sectors - 1)
        let last = min(sectors - 1, first + trial.random(in: 0...7))
        let range = sector(first).lowerBound..<sector(last).upperBound
        torn.replaceSubrange(range, with: Data(count: range.count))
        return (torn, "zeroed")
      default:
        let (left, right) = (sector(trial.random(in: 0...sectors - 1)), sector(trial.random(in: 0...sectors - 1)))
        let (one, other) = (Data(torn[left]), Data(torn[right]))
        torn.replaceSubrange(left, with: other)
        torn.replaceSubrange(right, with: one)
        return (torn, "swapped")
      }
    }

    /// Checks on a copy that whole transactions are there and nothing else; returns how many jobs there are.
    private func whole(
      _ template: TemporaryDirectory, _ torn: Data, _ copy: TemporaryDirectory, _ trial: Trial, _ comment: Comment
    ) async throws -> Int {
      try restore(template, torn, to: copy.path)
      let sql = try await Tool.run(
        "/usr/bin/sqlite3",
        [
          copy.path("bobbin.sqlite"),
          """
          PRAGMA integrity_check;
          SELECT count(*) FROM Job;
          SELECT id, state FROM Job AS j WHERE type = 'import' AND (SELECT count(*) FROM Reading WHERE job = j.id) <>
            CASE state WHEN 'completed' THEN json_extract(result, '$.rows')
            ELSE coalesce((SELECT json_extract(cursor, '$.inserted') FROM ImportState WHERE job = j._key), 0) END;
          SELECT 'a row of no job', job FROM Reading WHERE job NOT IN (SELECT id FROM Job);
          SELECT 'an image of no job', title FROM Image
            WHERE title NOT IN (SELECT id FROM Job WHERE state = 'completed')
          """,
        ])
      let lines = sql.output.split(separator: "\n")
      // SQLite itself may refuse what is left.
      guard sql.code == 0, let count = lines.dropFirst().first.flatMap({ Int($0) }) else { return 0 }
      #expect(lines.first == "ok", comment)
      #expect(lines.count == 2, "\(comment): \(sql.output)")
      return count
    }

    private func restore(_ template: TemporaryDirectory, _ torn: Data, to state: String) throws {
      try restore(template.path, to: state)
      try torn.write(to: URL(filePath: state + "/bobbin.sqlite-wal"))
    }

    private func restore(_ source: String, to state: String) throws {
      let files = FileManager.default
      for name in try files.contentsOfDirectory(atPath: state) { try files.removeItem(atPath: state + "/" + name) }
      for name in try files.contentsOfDirectory(atPath: source) where !name.hasSuffix("-shm") && name != "lock" {
        try files.copyItem(atPath: source + "/" + name, toPath: state + "/" + name)
      }
    }
  }
}
