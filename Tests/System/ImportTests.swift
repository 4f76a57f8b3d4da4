import DaemonTesting
import Foundation
import JSONText
import TestSupport
import Testing

extension SystemTests {
  @Suite("An import")
  struct Imports {
    static let model = TestModel.model(
      """
      <entity name="Person" representedClassName="Person" syncable="YES">
        <attribute name="code" optional="YES" attributeType="String"/>
        <attribute name="name" optional="YES" attributeType="String"/>
        <attribute name="age" attributeType="Integer 64" defaultValueString="18" minValueString="0"
          maxValueString="150" usesScalarValueType="YES"/>
        <attribute name="paid" optional="YES" attributeType="Double" usesScalarValueType="YES"/>
        <attribute name="born" optional="YES" attributeType="Date"/>
        <attribute name="isActive" optional="YES" attributeType="Boolean"/>
        <relationship name="department" optional="YES" maxCount="1" deletionRule="Nullify"
          destinationEntity="Department" inverseName="people" inverseEntity="Department"/>
        <uniquenessConstraints><uniquenessConstraint><constraint value="code"/></uniquenessConstraint>
        </uniquenessConstraints>
      </entity>
      <entity name="Department" representedClassName="Department" syncable="YES">
        <attribute name="short" optional="YES" attributeType="String"/>
        <attribute name="kind" optional="YES" attributeType="String" defaultValueString="plain"/>
        <relationship name="people" optional="YES" toMany="YES" deletionRule="Nullify" destinationEntity="Person"
          inverseName="department" inverseEntity="Person"/>
        <uniquenessConstraints><uniquenessConstraint><constraint value="short"/></uniquenessConstraint>
        </uniquenessConstraints>
      </entity>
      """)

    /// A daemon with some people in its store.
    func people() async throws -> DaemonProcess {
      let daemon = try await DaemonProcess.ready(try DaemonRoot(model: Self.model))
      let job = try await run(daemon, "first", "code,name,age\na,Ada,36\nb,Bob,40\n")
      #expect(job["state"] == "completed")
      return daemon
    }

    /// Imports a table and returns the job.
    func run(
      _ daemon: DaemonProcess, _ id: String, _ table: String, _ arguments: String = ""
    ) async throws -> JSONValue {
      try daemon.root.payload("\(id).csv", table)
      let more = arguments.isEmpty ? "" : ", " + arguments
      let text =
        #"{"type": "import", "id": "\#(id)", "arguments": {"input": "\#(id).csv", "entity": "Person"\#(more)}}"#
      return try #require(try await daemon.submit(text).first)
    }

    func table(_ daemon: DaemonProcess) async throws -> String {
      try await daemon.root.sql("SELECT code, name, age FROM Person ORDER BY code")
    }

    struct Case: Sendable, CustomTestStringConvertible {
      let mode: String
      let table: String
      let counts: [String: Int64]
      var testDescription: String { mode }
    }

    static let cases = [
      Case(
        mode: #""mode": "insert", "maxRejects": 1"#, table: "a|Ada|36\nb|Bob|40\nc|Cid|18",
        counts: ["rows": 1, "inserted": 1, "rejects": 1]),
      Case(
        mode: #""mode": "skip""#, table: "a|Ada|36\nb|Bob|40\nc|Cid|18",
        counts: ["rows": 1, "inserted": 1, "skipped": 1]),
      Case(
        mode: #""mode": "update""#, table: "a|Augusta|36\nb|Bob|40\nc|Cid|18",
        counts: ["rows": 2, "inserted": 1, "updated": 1]),
      Case(
        mode: #""mode": "update", "key": "code", "atomic": true"#, table: "a|Augusta|36\nb|Bob|40\nc|Cid|18",
        counts: ["rows": 2, "inserted": 1, "updated": 1]),
      Case(
        mode: #""mode": "mirror""#, table: "a|Augusta|36\nc|Cid|18",
        counts: ["rows": 2, "inserted": 1, "updated": 1, "deleted": 1]),
      Case(
        mode: #""mode": "replaceAll""#, table: "a|Augusta|18\nc|Cid|18",
        counts: ["rows": 2, "inserted": 2, "deleted": 2]),
    ]

    @Test("does with people who are there what its mode says", arguments: cases)
    func mode(one: Case) async throws {
      let daemon = try await people()
      let job = try await run(daemon, "second", "code,name\na,Augusta\nc,Cid\n", one.mode)
      #expect(job["state"] == "completed")
      let found = try await table(daemon)
      #expect(found == one.table)
      for (name, count) in one.counts { #expect(job["result"]?[name]?.integer == count, "\(name)") }
      let again = try await run(daemon, "third", "code,name\na,Augusta\nc,Cid\n", #""mode": "update""#)
      #expect(again["state"] == "completed")
      // Everything is there by now as the file has it.
      let last = try await run(daemon, "fourth", "code,name\na,Augusta\nc,Cid\n", #""mode": "update""#)
      for (name, count) in ["inserted": 0, "updated": 0, "unchanged": 2] as [String: Int64] {
        #expect(last["result"]?[name]?.integer ?? 0 == count, "\(name)")
      }
    }

    @Test("that may not have bad records leaves the table as it was", arguments: [false, true])
    func refused(isAtomic: Bool) async throws {
      let daemon = try await people()
      let job = try await run(
        daemon, "second", "code,name,age\nc,Cid,20\na,Ada,36\nd,Dan,x\n", #""atomic": \#(isAtomic)"#)
      #expect(job["state"] == "discarded")
      let found = try await table(daemon)
      #expect(found == "a|Ada|36\nb|Bob|40")
      let rejects = try await daemon.get("/v1/jobs/second/rejects")
      #expect(rejects["rejects"]?.array?.isEmpty == false)
    }

    @Test("gives its bad records back as a file that can be corrected and imported")
    func rejects() async throws {
      let daemon = try await people()
      let job = try await run(
        daemon, "second", "code;name;age\nc;\"Cid; the third\";20\nd;\"Dan; jr\";x\nb;Bo;1\ne;Eve;200\n",
        #""maxRejects": "80%""#)
      #expect(job["result"]?["rejects"] == 3)
      let shown = try await daemon.get("/v1/jobs/second")
      #expect(shown["rejects"] == 3)
      let page = try await daemon.request("GET", "/v1/jobs/second/rejects", query: ["limit": "2"]).body
      #expect(page["total"] == 3)
      #expect(page["rejects"]?.array?.map { $0["line"]?.integer } == [3, 4])
      #expect(page["rejects"]?.array?.map { $0["rule"]?.string } == ["type", "unique"])
      let next = try #require(page["next"]?.integer)
      let rest = try await daemon.request("GET", "/v1/jobs/second/rejects", query: ["after": "\(next)"]).body
      #expect(rest["rejects"]?.array?.map { $0["message"]?.string } == ["is 200, more than 150"])
      #expect(rest["next"]?.isNull == true)
      let file = try await daemon.tool("rejects", "second").output
      #expect(file == "code;name;age\nd;\"Dan; jr\";x\nb;Bo;1\ne;Eve;200\n")
      let reasons = try await daemon.tool("rejects", "--reasons", "second").output
      #expect(reasons.hasPrefix("line 3, age: \"x\" is not a whole number (type)\n"))
      let corrected = file.replacing(";x", with: ";30").replacing("200", with: "100")
      let third = try await run(daemon, "third", corrected, #""mode": "update""#)
      #expect(third["state"] == "completed")
      let found = try await table(daemon)
      #expect(found == "a|Ada|36\nb|Bo|1\nc|Cid; the third|20\nd|Dan; jr|30\ne|Eve|100")
    }

    @Test("with too many bad records is held if asked to, and goes on when it is released")
    func held() async throws {
      let daemon = try await people()
      try daemon.root.payload("second.csv", "code,age\nc,1\nd,x\na,5\n")
      try daemon.root.drop(
        #"""
        {"type": "import", "id": "second", "arguments": {"input": "second.csv", "entity": "Person",
          "onTooManyRejects": "hold"}}
        """#, as: "second.json")
      try await daemon.waitForLog("was held")
      let held = try await table(daemon)
      #expect(held == "a|Ada|36\nb|Bob|40")
      _ = try await daemon.tool("release", "second")
      try await daemon.waitUntilSpoolIsEmpty()
      let found = try await table(daemon)
      #expect(found == "a|Ada|36\nb|Bob|40\nc||1")
      let rejects = try await daemon.get("/v1/jobs/second/rejects")
      #expect(rejects["rejects"]?.array?.map { $0["line"]?.integer } == [3, 4])
    }

    @Test("reads values by the rules of their columns, and finds or creates what relationships lead to")
    func mapping() async throws {
      let daemon = try await people()
      let job = try await run(
        daemon, "second",
        "c;n;p;d;act;dep\n x ;Xa;1.234,5;24.12.2025;JA;IT\ny;;-;1.2.2024;nein;HR\nz;Z;12.34;01.01.2020;ja;IT\n",
        #"""
        "maxRejects": 1, "mode": "update", "rules": {"trim": true, "null": "-"}, "values": {"age": 7},
        "columns": {"c": "code", "n": {"attribute": "name", "default": "none"},
          "p": {"attribute": "paid", "decimal": ",", "grouping": "."},
          "d": {"attribute": "born", "dates": ["dd.MM.yyyy", "d.M.yyyy"]},
          "act": {"attribute": "isActive", "true": "ja", "false": "nein"},
          "dep": {"relationship": "department", "key": "short", "missing": "create"}}
        """#)
      #expect(job["state"] == "completed")
      let rows = try await daemon.root.sql(
        """
        SELECT code, name, age, paid, date(born + 978307200, 'unixepoch'), isActive, short, kind
        FROM Person JOIN Department ON department = Department._key ORDER BY code
        """)
      #expect(rows == "x|Xa|7|1234.5|2025-12-24|1|IT|plain\ny|none|7||2024-02-01|0|HR|plain")
      let rejects = try await daemon.tool("rejects", "--reasons", "second").output
      #expect(rejects == "line 4, p: \"12.34\" is not a number such as 1.234,5 (type)\n")
      let third = try await run(
        daemon, "third", "code,dep\nq,IT\nr,XX\n",
        #""maxRejects": 1, "columns": {"code": "code", "dep": {"relationship": "department", "key": "short"}}"#)
      #expect(third["result"]?["inserted"] == 1)
      let lacking = try await daemon.tool("rejects", "--reasons", "third").output
      #expect(lacking == "line 3, dep: there is no Department with the short \"XX\" (relationship)\n")
    }

    @Test("reads dates in the formats that are stated, in turn")
    func dates() async throws {
      let daemon = try await DaemonProcess.ready(try DaemonRoot(model: Self.model))
      let written = [
        "24.12.2025 18:30:15", "Feb 29, 2024", "20240131", "3/4/99 9:05 pm", "1700000000", "31.12.2025T23:59 +01:00",
        "30.02.2024 00:00:00", "Foo 1, 2024",
      ]
      let table = "code,born\n" + written.enumerated().map { "\($0.offset),\"\($0.element)\"\n" }.joined()
      let job = try await run(
        daemon, "dates", table,
        #"""
        "maxRejects": 2, "columns": {"code": "code", "born": {"attribute": "born", "dates": ["dd.MM.yyyy HH:mm:ss",
          "MMM d, yyyy", "yyyyMMdd", "d/M/yy h:mm a", "dd.MM.yyyy'T'HH:mm X", "epoch"]}}
        """#)
      #expect(job["state"] == "completed")
      let rows = try await daemon.root.sql("SELECT datetime(born + 978307200, 'unixepoch') FROM Person ORDER BY code")
      #expect(
        rows == """
          2025-12-24 18:30:15
          2024-02-29 00:00:00
          2024-01-31 00:00:00
          1999-04-03 21:05:00
          2023-11-14 22:13:20
          2025-12-31 22:59:00
          """)
      let rejects = try await daemon.get("/v1/jobs/dates/rejects")
      #expect(rejects["rejects"]?.array?.map { $0["line"]?.integer } == [8, 9])
    }

    @Test("that retention removes takes its bad records along")
    func retention() async throws {
      let root = try DaemonRoot(
        "[Writer]\nFlushIntervalSec=5ms\n[Retention]\nFailedAgeSec=0s\n", model: Self.model)
      let daemon = try await DaemonProcess.ready(root)
      try root.payload("bad.csv", "code,age\na,x\nb,y\n")
      try root.drop(
        #"{"type": "import", "id": "bad", "arguments": {"input": "bad.csv", "entity": "Person"}}"#, as: "bad.json")
      try await daemon.waitForLog("retention removed")
      let left = try await root.sql(
        "SELECT (SELECT count(*) FROM Job), (SELECT count(*) FROM ImportReject), (SELECT count(*) FROM ImportState)")
      #expect(left == "0|0|0")
    }

    @Test("that is a dry run tells what would happen and writes nothing")
    func trial() async throws {
      let daemon = try await people()
      let job = try await run(
        daemon, "second", "code,name,age\na,Ada,36\nc,Cid,20\nd,Dan,x\n", #""dryRun": true, "maxRejects": 2"#)
      let result = try #require(job["result"])
      #expect(result["records"] == 3)
      #expect(result["good"] == 1)
      #expect(result["rejects"] == 2)
      #expect(result["isWithinLimit"] == true)
      #expect(result["firstRejects"]?.array?.map { $0["line"] } == [2, 4])
      #expect(result["firstRejects"]?.array?.map { $0["rule"] } == ["unique", "type"])
      #expect(result["sample"]?.array?.first?["name"] == "Ada")
      #expect(result["columns"]?.array?.map { $0["type"]?.string } == ["String", "String", "String"])
      #expect(result["seconds"]?.number != nil)
      let found = try await table(daemon)
      #expect(found == "a|Ada|36\nb|Bob|40")
      let left = try await daemon.root.sql("SELECT count(*) FROM ImportReject")
      #expect(left == "0")
    }

    /// What each mode really does: objects inserted, skipped, deleted, updated and unchanged.
    static let trialCounts: [String: [Int64]] = [
      "insert": [2, 0, 0, 0, 0], "skip": [2, 4, 0, 0, 0], "update": [2, 0, 0, 2, 2], "mirror": [2, 0, 0, 2, 2],
      "replaceAll": [4, 0, 2, 0, 0],
    ]

    @Test(
      "does what a dry run has told", arguments: ["insert", "skip", "update", "mirror", "replaceAll"])
    func trialIsTrue(mode: String) async throws {
      let daemon = try await people()
      let text = "code,name,age\na,Ada,36\nc,Cid,20\nc,Cai,21\nd,Dan,x\nb,Bea,1\nd,Dot,5\nd,Dot,5\n"
      let arguments = #""mode": "\#(mode)", "maxRejects": "100%""#
      let told = try #require(try await run(daemon, "trial", text, arguments + #", "dryRun": true"#)["result"])
      let found = try await table(daemon)
      #expect(found == "a|Ada|36\nb|Bob|40")
      let done = try #require(try await run(daemon, "real", text, arguments)["result"])
      for key in ["inserted", "skipped", "deleted", "rejects"] { #expect(told[key] == done[key], "\(key)") }
      let counts = ["inserted", "skipped", "deleted", "updated", "unchanged"].map { done[$0]?.integer ?? 0 }
      #expect(counts == Self.trialCounts[mode])
      #expect(told["updated"]?.integer == (done["updated"]?.integer ?? 0) + (done["unchanged"]?.integer ?? 0))
      let rejects = try await daemon.get("/v1/jobs/real/rejects")["rejects"]?.array ?? []
      #expect(told["firstRejects"]?.array?.map { $0["line"] } == rejects.map { $0["line"] })
    }

    @Test(
      "is refused at once if its arguments make no sense",
      arguments: [
        (#""mode": "upsert""#, "must be one of insert, skip, update, mirror, replaceAll"),
        (#""key": "code""#, "has no meaning for the mode \"insert\""),
        (#""mode": "update", "key": "name""#, "can't be found by name at once"),
        (#""mode": "mirror", "atomic": false"#, "can't be false for the mode \"mirror\""),
        (#""maxRejects": "many""#, "must be a number of records or a share such as \"5%\""),
        (#""atomic": true, "onTooManyRejects": "hold""#, "can't be \"hold\""),
        (#""columns": {"a": {"attribute": "born", "dates": "ddd"}}"#, "\"ddd\" is not a date format"),
        (#""columns": {"a": {"attribute": "age", "default": "old"}}"#, "\"old\" is not a whole number"),
        (#""columns": {"a": "department"}"#, "is a relationship"),
        (#""columns": {"a": {"relationship": "department", "key": "kind"}}"#, "can't be found by \"kind\" at once"),
        (#""values": {"age": 200}"#, "is 200, more than 150"),
        (#""rules": {"true": ["x", "y"], "false": ["n", "x"]}"#, "has the word \"x\" in common with \"false\""),
        (#""separator": "\"""#, "is the quote, if nothing is stated"),
        (#""quote": ",""#, "may be the separator, too"),
      ])
    func nonsense(arguments: String, reason: String) async throws {
      let daemon = try await DaemonProcess.ready(try DaemonRoot(model: Self.model))
      let text =
        #"{"type": "import", "arguments": {"input": "a.csv", "entity": "Person", \#(arguments)}}"#
      let reply = try await daemon.request("POST", "/v1/jobs", body: text)
      #expect(reply.status == 400)
      #expect(reply.body.serialized().contains(JSONValue.string(reason).serialized().dropFirst().dropLast()))
    }
  }
}
