import DaemonTesting
import PostgresTesting
import SystemSupport
import TestSupport
import Testing

extension FleetSystemTests {
  /// What a daemon needs of its role, and what only the owner of the tables can do.
  @Suite("A daemon that may not change the schema of its database", .enabled(if: PostgresCluster.isAvailable()))
  struct FleetRoles {
    private let database: TestDatabase
    private let root: DaemonRoot

    private static let entities = """
      <entity name="Remark" representedClassName="Remark"/>
      <entity name="Reading" representedClassName="Reading">
        <attribute name="number" attributeType="Integer 64" defaultValueString="0"/>
        <attribute name="note" optional="YES" attributeType="String"/>
        <uniquenessConstraints><uniquenessConstraint><constraint value="number"/></uniquenessConstraint></uniquenessConstraints>
      </entity>
      """
    private static let other = #"<entity name="Other" representedClassName="Other"/>"#

    init() throws {
      database = try PostgresCluster.makeDatabase()
      try database.makeRole("keeper")
      try database.makeRole("worker")
      try database.run(
        """
        CREATE SCHEMA bobbin AUTHORIZATION keeper;
        GRANT USAGE ON SCHEMA bobbin TO worker;
        ALTER DEFAULT PRIVILEGES FOR ROLE keeper IN SCHEMA bobbin
          GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO worker;
        """)
      root = try DaemonRoot(model: TestModel.model(Self.entities))
      try root.declare("row", #"echo '{"insert": {"entity": "Remark", "values": {}}}'"#)
      for number in 1...2 {
        try root.payload("\(number).csv", "number,note\n" + (1...300).map { "\($0),of \(number)\n" }.joined())
      }
    }

    private func configure(_ role: String) throws {
      let url = database.url.replacing("postgres@", with: "\(role)@")
      try root.configure("[Store]\nUrl=\(url)\n\(DaemonRoot.quickFlushes)")
    }

    private func daemon(as role: String) async throws -> DaemonProcess {
      try configure(role)
      return try await DaemonProcess.ready(root)
    }

    /// Has the owner of the tables make what the models need.
    private func prepare() async throws {
      let owner = try await daemon(as: "keeper")
      #expect(try await owner.stop() == .exited(code: 0), "\(owner.logText)")
    }

    @Test("does all of its work by rights to rows, and says who has to change the tables for another model")
    func rights() async throws {
      try await prepare()
      let daemon = try await daemon(as: "worker")
      try root.drop(#"{"type": "row", "id": "row"}"#, as: FileName("row.json"))
      for (number, after) in [(1, "row"), (2, "import-1")] {
        try root.drop(
          #"""
          {"type": "import", "id": "import-\#(number)", "after": ["\#(after)"],
           "arguments": {"input": "\#(number).csv", "entity": "Reading", "mode": "update", "key": ["number"]}}
          """#, as: FileName("import-\(number).json"))
      }
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(
        try database.output("SELECT id, state FROM Job ORDER BY id")
          == "import-1|completed\nimport-2|completed\nrow|completed", "\(daemon.logText)")
      let rows = "SELECT (SELECT count(*) FROM Remark), count(*), min(note), max(note) FROM Reading"
      #expect(try database.output(rows) == "1|300|of 2|of 2")
      #expect(try await daemon.tool("pause").code == 0)
      #expect(try await daemon.tool("resume").code == 0)
      #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)")

      try root.write(
        TestModel.model(Self.entities + Self.other), to: root.paths.models + "/Test.xcdatamodel/contents")
      let refused = try DaemonProcess(root)
      #expect(try await refused.waitForEnd() == .exited(code: 78))
      #expect(refused.logText.contains("the role worker"), "\(refused.logText)")
      #expect(refused.logText.contains("start once as the owner"), "\(refused.logText)")
      try await prepare()
      let again = try await self.daemon(as: "worker")
      #expect(try await again.stop() == .exited(code: 0), "\(again.logText)")
    }

    @Test("waits for a right to the ledger that it has lost, says so, and nothing is lost")
    func lostRight() async throws {
      try await prepare()
      let daemon = try await daemon(as: "worker")
      try database.run("REVOKE INSERT ON bobbin._inbox FROM worker")
      try root.drop(#"{"type": "row", "id": "row"}"#, as: FileName("row.json"))
      try await daemon.waitForLog(
        "the fleet's database refuses a request, which is made again: the role worker lacks a right")
      try database.run("GRANT INSERT ON bobbin._inbox TO worker")
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try database.output("SELECT id, state FROM Job") == "row|completed", "\(daemon.logText)")
      #expect(try database.output("SELECT count(*) FROM Remark") == "1")
      #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)")
    }
  }
}
