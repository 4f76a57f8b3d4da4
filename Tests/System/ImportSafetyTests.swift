import DaemonTesting
import Foundation
import JSONText
import SystemSupport
import TestSupport
import Testing

extension SystemTests.Imports {
  private func rejects(of id: String, _ daemon: DaemonProcess) async throws -> [JSONValue] {
    try await daemon.get("/v1/jobs/\(id)/rejects")["rejects"]?.array ?? []
  }

  @Test("leaves alone what a record's object does not mention, and gives new objects their defaults")
  func absentKeys() async throws {
    let daemon = try await people()
    let job = try await run(
      daemon, "second",
      """
      {"code": "a", "age": 37}
      {"code": "b", "name": null}
      {"code": "c", "name": "Cid"}
      {"code": "d", "age": 5, "paid": 1.5}
      {"code": "d", "name": "Dan"}

      """, #""mode": "update""#)
    #expect(job["state"] == "completed")
    let found = try await daemon.root.sql("SELECT code, name, age, paid FROM Person ORDER BY code")
    #expect(found == "a|Ada|37|\nb||40|\nc|Cid|18|\nd|Dan|5|1.5")
  }

  @Test("keeps the relationship of an object whose record does not mention it")
  func absentRelationship() async throws {
    let daemon = try await people()
    let columns =
      #""mode": "update", "columns": {"code": "code", "name": "name", "dep": {"relationship": "department", "#
      + #""key": "short", "missing": "create"}}"#
    _ = try await run(
      daemon, "second", #"{"code":"a","dep":"IT"}"# + "\n" + #"{"code":"b","dep":"HR"}"# + "\n", columns)
    let job = try await run(
      daemon, "third", #"{"code":"a","name":"Augusta"}"# + "\n" + #"{"code":"b","dep":null}"# + "\n", columns)
    #expect(job["state"] == "completed")
    let found = try await daemon.root.sql(
      "SELECT code, name, short FROM Person LEFT JOIN Department ON department = Department._key ORDER BY code")
    #expect(found == "a|Augusta|IT\nb|Bob|")
  }

  @Test("takes no record that has none of the keys that it knows")
  func unknownKeys() async throws {
    let daemon = try await people()
    let job = try await run(daemon, "second", #"{"zz":1}"# + "\n" + #"{"code":"c"}"# + "\n", #""maxRejects": 1"#)
    #expect(job["result"]?["rows"] == 1)
    let bad = try await rejects(of: "second", daemon)
    #expect(bad.map { $0["rule"] } == ["columns"])
    #expect(bad.first?["message"] == "none of its keys is a column of the import")
  }

  @Test("that mirrors a table deletes nothing if a record is bad, since it may be of an object that is there")
  func mirrorWithRejects() async throws {
    let daemon = try await people()
    let table = "code,name,age\na,Augusta,36\nb,Bob,old\n"
    let told = try await run(daemon, "trial", table, #""mode": "mirror", "maxRejects": 1, "dryRun": true"#)
    #expect(told["result"]?["deleted"] == 0)
    let job = try await run(daemon, "second", table, #""mode": "mirror", "maxRejects": 1"#)
    #expect(job["state"] == "completed")
    #expect(job["result"]?["deleted"] == 0)
    #expect(job["result"]?["deletesSkipped"] == true)
    let found = try await self.table(daemon)
    #expect(found == "a|Augusta|36\nb|Bob|40")
  }

  @Test(
    "deletes no more than it may, and not everything because of an empty file",
    arguments: [
      (#""mode": "mirror""#, "code,name\n", #"the input has no records, so that 2 of 2 objects of "Person" would be"#),
      (#""mode": "replaceAll""#, "code,name\n", "the input has no records"),
      (#""mode": "mirror", "maxDeletes": 0"#, "code\na\n", #"1 of 2 objects of "Person" would be deleted, more than"#),
      (#""mode": "mirror", "maxDeletes": "49%""#, "code\na\nc\n", "1 of 2 objects"),
      (#""mode": "mirror", "maxDeletes": "50%""#, "code\na\nc\n", nil),
      (#""mode": "replaceAll", "maxDeletes": "100%""#, "code,name\n", nil),
    ] as [(String, String, String?)])
  func deletes(mode: String, table: String, message: String?) async throws {
    let daemon = try await people()
    let trial = try await run(daemon, "trial", table, mode + #", "dryRun": true"#)
    #expect(trial["result"]?["isWithinLimit"]?.bool == (message == nil))
    #expect(message == nil || trial["result"]?["problem"]?.string?.contains(message ?? "") == true)
    let job = try await run(daemon, "second", table, mode)
    let found = try await self.table(daemon)
    if let message {
      #expect(job["state"] == "discarded")
      #expect(job["error"]?.string?.contains(message) == true, "\(job["error"]?.string ?? "")")
      #expect(found == "a|Ada|36\nb|Bob|40")
    } else {
      #expect(job["state"] == "completed")
      #expect(!found.contains("b|Bob"))
    }
  }

  @Test("takes whole numbers that are written with a point, and says which column has a value that is taken")
  func values() async throws {
    let daemon = try await people()
    let job = try await run(daemon, "second", "code,age\nc,7.0\nd,1e2\na,3\ne,7.5\n", #""maxRejects": 2"#)
    #expect(job["result"]?["rows"] == 2)
    let reasons = try await daemon.tool("rejects", "--reasons", "second").output
    #expect(
      reasons == """
        line 4, code: another object has the same Person.code (unique)
        line 5, age: "7.5" is not a whole number (type)

        """)
  }

  @Test("takes back what it had imported between records that are bad")
  func takingBack() async throws {
    let root = try DaemonRoot("[Import]\nChunkRows=500\n[Writer]\nFlushIntervalSec=5ms\n", model: Self.model)
    let daemon = try await DaemonProcess.ready(root)
    // Every third code is there.
    _ = try await run(daemon, "first", "code\n" + (0..<700).map { "k\($0 * 3)\n" }.joined())
    let job = try await run(
      daemon, "second", "code\n" + (0..<2_000).map { "k\($0)\n" }.joined(), #""maxRejects": "30%""#)
    #expect(job["state"] == "discarded")
    let found = try await root.sql("SELECT count(*), (SELECT length(cursor) FROM ImportState) FROM Person")
    #expect(found == "700|")
  }

  @Test(
    "gives its bad records back with a job that imports them, however the input was written",
    arguments: [
      (
        #""encoding": "cp850", "skipLines": 2, "columns": ["code", "name", "age"]"#,
        "title\n\nc;M\u{81}ller;x\nd;Dan;5\n"
      ),
      (
        #""records": "data.items""#,
        #"{"data":{"items":[{"code":"c","name":"Müller","age":"x"},{"code":"d","age":5}]}}"#
      ),
      (#""encoding": "utf-16le", "separator": ";""#, "code;name;age\nc;Müller;x\nd;Dan;5\n"),
      (#""mode": "mirror""#, "code;name;age\nc;Müller;x\nd;Dan;5\n"),
    ])
  func rejectsJob(arguments: String, table: String) async throws {
    let daemon = try await people()
    let bytes: [UInt8] =
      arguments.contains("cp850")
      ? table.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
      : arguments.contains("utf-16le") ? table.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] } : Array(table.utf8)
    let input = daemon.root.paths.payload + "/odd.dat"
    try Data(bytes).write(to: URL(filePath: input))
    let text =
      #"{"type": "import", "id": "odd", "arguments": {"input": "odd.dat", "entity": "Person", "maxRejects": 1, "#
      + arguments + "}}"
    let job = try #require(try await daemon.submit(text).first)
    #expect(job["result"]?["rejects"] == 1, "\(job["error"]?.string ?? "")")
    _ = try await daemon.tool("rejects", "--output", daemon.root.paths.payload, "odd")
    let form = job["result"]?["input"]?["format"]?.string ?? ""
    let file = daemon.root.paths.payload + "/odd-rejects.\(form)"
    let rest = try String(contentsOfFile: file, encoding: .utf8)
    try rest.replacing("x", with: "50").write(toFile: file, atomically: true, encoding: .utf8)
    _ = try await daemon.tool("submit", "--wait", file + ".job.json")
    let found = try await self.table(daemon)
    #expect(found.contains("c|Müller|50"))
    #expect(found.contains("a|Ada|36"))
  }

  @Test(
    "refuses an input with more records than the configuration allows, before anything is written",
    arguments: [false, true])
  func tooManyRows(isAtomic: Bool) async throws {
    let root = try DaemonRoot(DaemonRoot.quickFlushes + "[Import]\nMaxRows=1000\nChunkRows=100\n")
    let daemon = try await DaemonProcess.ready(root)
    for (id, count) in [("fits", 1000), ("more", 1001)] {
      try root.payload("\(id).csv", "job,number\n" + String(repeating: "a,1\n", count: count))
      let job = TestModel.importJob(id, "\(id).csv").replacing(
        #""entity""#, with: #""atomic": \#(isAtomic), "entity""#)
      try root.drop(job, as: FileName("\(id).json"))
    }
    try await daemon.waitUntilSpoolIsEmpty()
    #expect(try await root.sql("SELECT id, state FROM Job ORDER BY id") == "fits|completed\nmore|discarded")
    #expect(try await root.sql("SELECT count(*) FROM Reading") == "1000")
    #expect(try root.reason("more.json").contains("has more than 1000 records; [Import] MaxRows allows no more"))
    #expect(try await daemon.stop() == .exited(code: 0))
  }

  @Test("refuses an archive that unpacks to more than the configuration allows")
  func tooLargeUnpacked() async throws {
    let root = try DaemonRoot(DaemonRoot.quickFlushes + "[Import]\nMaxUnpackedSize=1M\n")
    let daemon = try await DaemonProcess.ready(root)
    let tool = try await Tool.run(
      "/bin/sh", ["-c", "(echo job,number; yes a,1 | head -n 1000000) | gzip -9c > \(root.paths.payload)/bomb.gz"])
    try #require(tool.code == 0)
    try root.drop(TestModel.importJob("bomb", "bomb.gz"), as: "bomb.json")
    try await daemon.waitUntilSpoolIsEmpty()
    #expect(try await root.sql("SELECT count(*) FROM Reading") == "0")
    #expect(try root.reason("bomb.json").contains("it unpacks to more than 1048576 bytes; [Import] MaxUnpackedSize"))
    #expect(try await daemon.stop() == .exited(code: 0))
  }
}
