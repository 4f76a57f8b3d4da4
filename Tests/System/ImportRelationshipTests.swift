import DaemonTesting
import JSONText
import TestSupport
import Testing

extension SystemTests {
  @Suite("An import that leads to other objects")
  struct ImportRelationships {
    private static let model = TestModel.model(
      """
      <entity name="Person" representedClassName="Person" syncable="YES">
        <attribute name="number" attributeType="Integer 64" defaultValueString="0" usesScalarValueType="YES"/>
        <attribute name="name" optional="YES" attributeType="String"/>
        <relationship name="boss" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Person"
          inverseName="reports" inverseEntity="Person"/>
        <relationship name="reports" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Person"
          inverseName="boss" inverseEntity="Person"/>
        <relationship name="department" optional="YES" maxCount="1" deletionRule="Nullify"
          destinationEntity="Department" inverseName="people" inverseEntity="Department"/>
        <uniquenessConstraints><uniquenessConstraint><constraint value="number"/></uniquenessConstraint>
        </uniquenessConstraints>
      </entity>
      <entity name="Department" representedClassName="Department" syncable="YES">
        <attribute name="code" optional="YES" attributeType="String"/>
        <relationship name="people" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Person"
          inverseName="department" inverseEntity="Person"/>
        <uniquenessConstraints><uniquenessConstraint><constraint value="code"/></uniquenessConstraint>
        </uniquenessConstraints>
      </entity>
      """)

    private func run(
      _ daemon: DaemonProcess, _ id: String, _ table: String, _ arguments: String, entity: String = "Person"
    ) async throws -> JSONValue {
      try daemon.root.payload("\(id).csv", table)
      let text =
        #"{"type": "import", "id": "\#(id)", "arguments": {"input": "\#(id).csv", "entity": "\#(entity)", \#(arguments)}}"#
      return try #require(try await daemon.submit(text).first)
    }

    @Test("finds out before the first record is written that one leads nowhere", arguments: ["insert", "update"])
    func leadsNowhere(mode: String) async throws {
      let daemon = try await DaemonProcess.ready(
        try DaemonRoot("[Import]\nChunkRows=2\n", model: Self.model))
      let made = try await run(daemon, "d", "code\nE1\nE2\n", #""mode": "insert""#, entity: "Department")
      #expect(made["state"] == "completed")
      let columns = #""columns": {"No": "number", "Dept": {"relationship": "department", "key": "code"}}"#
      let job = try await run(
        daemon, "p", "No,Dept\n1,E1\n2,E2\n3,E1\n4,D9\n5,E2\n", #""mode": "\#(mode)", \#(columns)"#)
      #expect(job["state"] == "discarded")
      let reason = #"line 5, column Dept: there is no Department with the code "D9""#
      #expect(job["error"]?.string?.hasSuffix(reason) == true, "\(job["error"]?.string ?? "")")
      let people = try await daemon.root.sql("SELECT count(*) FROM Person")
      #expect(people == "0")
      let rejects = try await daemon.tool("rejects", "p")
      #expect(rejects.output == "No,Dept\n4,D9\n")
    }

    @Test("to objects of its own entity fills them once all are there, and not before")
    func ownEntity() async throws {
      let daemon = try await DaemonProcess.ready(
        try DaemonRoot("[Import]\nChunkRows=2\n", model: Self.model))
      let table = "Name,No,Boss\nBob,2,1\nAda,1,\nCid,3,2\nDan,4,1\n"
      for (number, missing) in ["reject", "null", "create"].enumerated() {
        let boss = #""Boss": {"relationship": "boss", "key": "number", "missing": "\#(missing)"}"#
        try daemon.root.payload("early\(number).csv", table)
        let arguments =
          #"{"input": "early\#(number).csv", "entity": "Person", "columns": {"Name": "name", "No": "number", \#(boss)}}"#
        let (status, reply) = try await daemon.request(
          "POST", "/v1/jobs", body: #"{"type": "import", "arguments": \#(arguments)}"#)
        #expect(status == 400)
        #expect(reply.serialized().contains("leads to objects that this import makes itself"))
      }
      let names = try await run(daemon, "names", table, #""columns": {"Name": "name", "No": "number"}"#)
      #expect(names["state"] == "completed")
      let bosses = try await run(
        daemon, "bosses", table,
        #""mode": "update", "columns": {"No": "number", "Boss": {"relationship": "boss", "key": "number"}}"#)
      #expect(bosses["state"] == "completed", "\(bosses.serialized())")
      let found = try await daemon.root.sql(
        "SELECT p.name, b.name FROM Person p LEFT JOIN Person b ON p.boss = b._key ORDER BY p.number")
      #expect(found == "Ada|\nBob|Ada\nCid|Bob\nDan|Ada")
    }
  }
}
