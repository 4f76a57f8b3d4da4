import DaemonTesting
import Foundation
import SystemSupport
import TestSupport
import Testing

extension FaultTests {
  @Suite("SIGKILL during one import")
  struct ImportKills {
    private static let model = TestModel.model(
      """
      <entity name="Article" representedClassName="Article" syncable="YES">
        <attribute name="code" optional="YES" attributeType="String"/>
        <attribute name="title" optional="YES" attributeType="String"/>
        <attribute name="stock" attributeType="Integer 64" defaultValueString="0" usesScalarValueType="YES"/>
        <uniquenessConstraints><uniquenessConstraint><constraint value="code"/></uniquenessConstraint>
        </uniquenessConstraints>
      </entity>
      """)

    private static let rows = FaultPlan.count("IMPORT_ROWS", short: 100_000, whole: 1_000_000)
    private static let kills = FaultPlan.count("IMPORT_KILLS", short: 6, whole: 50)

    @Test(
      "The table is that of an undisturbed run, also where the import updates or rejects",
      .timeLimit(.minutes(60)), arguments: ["insert", "update"])
    func kills(mode: String) async throws {
      let undisturbed = try await tableAfter(mode, kills: 0)
      let disturbed = try await tableAfter(mode, kills: Self.kills)
      #expect(disturbed == undisturbed)
    }

    /// Imports, and tells what is in the table then: without keys, of which each start reserves others.
    private func tableAfter(_ mode: String, kills: Int) async throws -> String {
      let root = try DaemonRoot(DaemonRoot.quickFlushes + "[Import]\nChunkRows=2000\n", model: Self.model)
      try root.payload("old.csv", Self.table(every: 2, stock: 1))
      try root.payload("new.csv", Self.table(every: 1, stock: 2))
      var daemon = try await DaemonProcess.ready(root)
      if mode == "update" { _ = try await daemon.submit(Self.job("old", "insert"), seconds: 600) }
      try root.drop(Self.job("new", mode), as: "new.json")
      var place = ""
      var struck = 0
      for _ in 0..<kills {
        try await daemon.waitForStoreWrites(.random(in: 1...12), seconds: 600)
        // The moment is the fault, nothing waits for it.
        try await Task.sleep(for: .microseconds(Int.random(in: 0...20_000)))
        try await daemon.kill()
        let reached = try await root.sql("SELECT cursor FROM ImportState WHERE cursor IS NOT NULL")
        if reached != place, !reached.isEmpty { struck += 1 }
        place = reached
        daemon = try await DaemonProcess.ready(root)
      }
      try await daemon.waitUntilSpoolIsEmpty(seconds: 600)
      if kills > 0 {
        print("\(mode): \(kills) kills of an import of \(Self.rows) rows, \(struck) of them after it had come further")
      }
      let end = try await daemon.stop()
      #expect(end == .exited(code: 0), "\(daemon.logText)")
      return try await root.sql(
        """
        SELECT count(*), sum(stock), sum(_version), hex(sha3_query('SELECT code, title, stock, _version FROM Article \
        ORDER BY code')) FROM Article;
        SELECT count(*), hex(sha3_query('SELECT line, byteOffset, rule, raw FROM ImportReject ORDER BY byteOffset')) \
        FROM ImportReject;
        SELECT state, result FROM Job WHERE id = 'new';
        PRAGMA integrity_check;
        """)
    }

    private static func table(every step: Int, stock: Int) -> String {
      var text = "code,title,stock\n"
      for number in stride(from: 0, to: rows, by: step) {
        // Some bad records, and some whose code comes twice.
        let amount = number % 997 == 996 ? "many" : "\(stock + number % 5)"
        text += "a\(number % 1_009 == 1_008 ? number - 1 : number),\"Article, number \(number)\",\(amount)\n"
      }
      return text
    }

    private static func job(_ name: String, _ mode: String) -> String {
      #"""
      {"type": "import", "id": "\#(name)", "arguments": {"input": "\#(name).csv", "entity": "Article",
        "mode": "\#(mode)", "maxRejects": "5%"}}
      """#
    }
  }
}
