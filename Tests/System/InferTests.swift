import DaemonTesting
import Foundation
import JSONText
import TestSupport
import Testing

extension SystemTests {
  @Suite("Models made of data")
  struct Inferring {
    struct Table: Sendable, CustomTestStringConvertible {
      let testDescription: String
      let file: String
      /// Written by the test, if it is no file of another package.
      var text: String?
      var options: [String] = []
      let entity: String
      /// The types of the attributes in the order of the columns.
      let types: String
      let check: String
      let expected: String
    }

    static let tables = [
      Table(
        testDescription: "every type", file: "all types.v2.csv",
        text: """
          ID,Größe (cm),größe_cm,is-active,2nd,Job,born,uuid,,price,empty
          1,1.5,70000,yes,12345678901,"",2024-02-29,2f1acc6e-2f2f-4d0e-9f1b-8f7c5d0f3a11,007,0.1234567890123456789,
          -7,2,,no,0,"a ""b""
          c",2001-01-01T00:00:00Z,2f1acc6e-2f2f-4d0e-9f1b-8f7c5d0f3a12,x,2,
          """,
        entity: "AllTypesV2",
        types: "Integer 16,Double,Integer 32?,Boolean,Integer 64,String,Date,UUID,String,Decimal,String?",
        check: """
          SELECT id, groSseCm, isActive, column2nd, job, born, column9, price FROM AllTypesV2 ORDER BY id
          """.replacing("groSseCm", with: "grosseCm"),
        expected: "-7|2.0|0|0|a \"b\"\nc|0.0|x|2\n1|1.5|1|12345678901||730857600.0|007|0.1234567890123456789"),
      Table(
        testDescription: "JSON objects inside each other", file: "users.ndjson",
        text: """
          {"id": 1, "name": {"first": "Ada", "last": null}, "tags": ["x"], "address": null}
          {"id": 2, "name": {"first": "Bob"}, "address": {"city": "Köln"}, "a.b": true}
          """,
        entity: "Users", types: "Integer 16,String,String?,String?,String?,Boolean?",
        check: "SELECT id, nameFirst, nameLast, tags, addressCity, aB FROM Users ORDER BY id",
        expected: "1|Ada||[\"x\"]||\n2|Bob|||Köln|1"),
      Table(
        testDescription: "numbers and dates as they are written in Germany", file: "umsatz.csv",
        text: "Nr;Umsatz;Gebucht am\n1;1.234,50;31.12.2026 18:30\n2;-7;01.01.2027 00:00\n", entity: "Umsatz",
        types: "Integer 16,Double,Date",
        check: "SELECT umsatz, datetime(gebuchtAm + 978307200, 'unixepoch') FROM Umsatz ORDER BY nr",
        expected: "1234.5|2026-12-31 18:30:00\n-7.0|2027-01-01 00:00:00"),
      Table(
        testDescription: "a name that the daemon has itself", file: "job.csv", text: "1;x\n2;y\n", entity: "JobRecord",
        types: "Integer 16,String", check: "SELECT column1, column2 FROM JobRecord ORDER BY 1", expected: "1|x\n2|y"),
      Table(
        testDescription: "a header with names twice and none", file: "twice.csv", text: "a,a,b,A,,\n1,2,3,4,5,6\n",
        entity: "Twice", types: "Integer 16,Integer 16,Integer 16,Integer 16,Integer 16,Integer 16",
        check: "SELECT a, a2, b, a3, column5, column6 FROM Twice", expected: "1|2|3|4|5|6"),
      Table(
        testDescription: "quotes that nobody doubled", file: "log.txt",
        text: "2020-01-01|12:30|{\"x\":1}\n2020-01-02|12:31|{\"x\":2}\n", entity: "Log",
        types: "Date,String,String", check: "SELECT column2, column3 FROM Log ORDER BY 1",
        expected: "12:30|{\"x\":1}\n12:31|{\"x\":2}"),
      Table(
        testDescription: "a quote in the header", file: "sizes.csv", text: "name,5\" pipes,n\nx,1,2\ny,3,4\n",
        entity: "Sizes", types: "String,Integer 16,Integer 16",
        check: "SELECT sum(column5Pipes), sum(n) FROM Sizes", expected: "4|6"),
      Table(
        testDescription: "no header, a key by its place, and a dash for nothing", file: "places.csv",
        text: "1;-;x\n2;5,5;\n3;7,0;-\n", options: ["--key", "1", "--null", "-"], entity: "Places",
        types: "Integer 16,Double?,String?", check: "SELECT column1, column2, column3 FROM Places ORDER BY 1",
        expected: "1||x\n2|5.5|\n3|7.0|"),
      Table(
        testDescription: "JSON with a word for nothing and a key of two columns", file: "events.ndjson",
        text: """
          {"day": "2024-01-01", "n": 1, "amount": 1.5}
          {"day": "2024-01-01", "n": 2, "amount": "n/a"}
          {"n": 1, "day": "2024-01-02", "amount": 2}
          """, options: ["--null", "n/a", "--key", "day", "--key", "n"], entity: "Events",
        types: "Date,Integer 16,Double?", check: "SELECT n, amount FROM Events ORDER BY day, n",
        expected: "1|1.5\n2|\n1|2.0"),
      Table(
        testDescription: "vendors", file: "/usr/share/ieee-data/oui.csv", entity: "Oui",
        types: "String,String,String,String?",
        check: "SELECT count(*) > 30000, count(organizationName) > 30000 FROM Oui",
        expected: "1|1"),
      Table(
        testDescription: "countries", file: "/usr/share/iso-codes/json/iso_3166-1.json", entity: "Iso31661",
        types: "String,String,String,String,String,String?,String?",
        check: "SELECT alpha2, numeric FROM Iso31661 WHERE name = 'Germany'", expected: "DE|276"),
      Table(
        testDescription: "time zones", file: "/usr/share/zoneinfo/zone.tab", options: ["--comment", "#"],
        entity: "Zone",
        types: "String,String,String,String?", check: "SELECT column1 FROM Zone WHERE column3 = 'Europe/Berlin'",
        expected: "DE"),
      Table(
        testDescription: "releases", file: "/usr/share/distro-info/debian.csv", entity: "Debian",
        types: "String?,String,String,Date,Date?,Date?,Date?,Date?",
        check: "SELECT version, codename FROM Debian WHERE series = 'bookworm'", expected: "12|Bookworm"),
    ]

    @Test(
      "The model and the job made of a file load in the daemon, and the file comes in as a whole", arguments: tables)
    func inferred(table: Table) async throws {
      let root = try DaemonRoot(model: nil)
      var path = table.file
      if let text = table.text {
        try root.payload(table.file, text)
        path = root.paths.payload + "/" + table.file
      } else if !FileManager.default.isReadableFile(atPath: path) {
        print("skipped: \(path) is not installed")
        return
      }
      let tool = try await Tool.run(
        "bobbinctl", ["model", "infer", "--json", "--output", root.paths.models, path] + table.options)
      #expect(tool.code == 0, "\(tool.errors)")
      let reply = try JSONValue(parsing: Array(tool.output.utf8))
      let attributes = reply["attributes"]?.array ?? []
      let types = attributes.map { ($0["type"]?.string ?? "") + ($0["optional"] == true ? "?" : "") }
      #expect(types.joined(separator: ",") == table.types)
      let daemon = try await DaemonProcess.ready(root)
      let file = try String(contentsOfFile: "\(root.paths.models)/\(table.entity).json", encoding: .utf8)
      let job = try #require(try await daemon.submit(file).first)
      #expect(job["state"]?.string == "completed", "\(job.serialized())")
      #expect(job["result"]?["rows"] == reply["records"])
      #expect(try await root.sql(table.check) == table.expected)
    }

    @Test("A key, a reference and a share of bad values make a model and jobs that work as they are, again and again")
    func wishes() async throws {
      let root = try DaemonRoot(model: nil)
      try root.payload("departments.csv", "Code;Name\nA;Sales\nB;Works\nC;n/a\n")
      let people = (1...98).map { "\($0);P\($0);\($0 % 2 == 0 ? "A" : "B");\($0),50;\($0 == 3 ? "n/a" : "2024-02-29")" }
      try root.payload(
        "people.csv",
        "No;Name;Dept;Pay;Since\n" + people.joined(separator: "\n") + "\n99;X;Z;1,00;\n100;Y;;unpaid;2024-01-01\n")
      func infer(_ arguments: String...) async throws -> Tool {
        try await Tool.run(
          "bobbinctl",
          ["model", "infer", "--output", root.paths.models, "--entity", "Department", "--entity", "Person"]
            + ["departments.csv", "people.csv"].map { root.paths.payload + "/" + $0 }
            + ["--key", "Person.No", "--reference", "Person.Dept=Department.Code", "--null", "n/a"] + arguments)
      }
      let strict = try await infer()
      #expect(strict.code == 65)
      #expect(strict.errors.contains("\"Dept\" is no key of Department in line 100"), "\(strict.errors)")
      let tool = try await infer("--tolerate", "1%")
      #expect(tool.code == 0, "\(tool.errors)")
      #expect(
        tool.output.contains(
          "Pay: 99 % are decimals as 1,5; the others are rejected, first: line 101 \"unpaid\""), "\(tool.output)")
      let check = try await Tool.run("bobbinctl", ["model", "check", root.paths.models])
      #expect(check.code == 0 && check.output == "1 model, 2 entities, 0 errors, 0 warnings\n", "\(check.output)")

      let daemon = try await DaemonProcess.ready(root)
      let file = try String(contentsOfFile: root.paths.models + "/Department.json", encoding: .utf8)
      for attempt in 1...2 {
        let jobs = try await daemon.submit(file.replacing("#", with: "#\(attempt)-"))
        #expect(jobs.map { $0["state"]?.string } == ["completed", "completed"], "\(jobs.map { $0.serialized() })")
        #expect(jobs.last?["result"]?["rejects"] == 2)
      }
      #expect(try await root.sql("SELECT count(*), sum(pay), count(since) FROM Person") == "98|4900.0|97")
      let counts = """
        SELECT d.name, count(*) FROM Person p JOIN Department d ON p.dept = d._key GROUP BY d.code ORDER BY d.code
        """
      #expect(try await root.sql(counts) == "Sales|49\nWorks|49")
      #expect(try await root.sql("SELECT count(*) FROM Department WHERE name IS NULL") == "1")

      // A third file that leads to what is there: its entity is added to the model.
      try root.payload("visits.csv", "Day,Person\n2024-01-01,7\n2024-01-02,8\n")
      let more = try await Tool.run(
        "bobbinctl",
        [
          "model", "infer", "--output", root.directory.path("new"), "--model",
          root.paths.models + "/Department.xcdatamodeld", "--reference", "Person=Person.no",
          root.paths.payload + "/visits.csv",
        ])
      #expect(more.code == 0, "\(more.errors)")
      #expect(try await daemon.stop() == .exited(code: 0))
      let bundle = "/Department.xcdatamodeld"
      let diff = try await Tool.run(
        "bobbinctl", ["model", "diff", root.paths.models + bundle, root.directory.path("new") + bundle])
      #expect(diff.output.contains("+ Person.visits: to many Visits, optional, inverse person"), "\(diff.output)")
      try FileManager.default.removeItem(atPath: root.paths.models + bundle)
      try FileManager.default.moveItem(atPath: root.directory.path("new") + bundle, toPath: root.paths.models + bundle)
      let again = try await DaemonProcess.ready(root)
      let visits = try await again.submit(
        String(contentsOfFile: root.directory.path("new/Visits.json"), encoding: .utf8))
      #expect(visits.first?["state"]?.string == "completed", "\(visits.map { $0.serialized() })")
      #expect(
        try await root.sql("SELECT p.no FROM Visits v JOIN Person p ON v.person = p._key ORDER BY v.day") == "7\n8")
      #expect(try await again.stop() == .exited(code: 0))
    }

    @Test("A key that does not tell records apart is refused with the lines, and so is a column that is not there")
    func badKeys() async throws {
      let root = try DaemonRoot(model: nil)
      try root.payload("a.csv", "a,b\n1,2\n,3\n1,4\n")
      let path = root.paths.payload + "/a.csv"
      func run(_ arguments: String...) async throws -> Tool {
        try await Tool.run("bobbinctl", ["model", "infer", "--output", root.directory.path, path] + arguments)
      }
      let key = try await run("--key", "a")
      #expect(key.code == 65)
      #expect(
        key.errors.contains(
          "a.csv: \"a\" has no value in line 3; \"a\" repeats an earlier record's in line 4 (as line 2)"),
        "\(key.errors)")
      #expect(try await run("--key", "a", "--key", "b", "--tolerate", "34%").code == 0)
      let column = try await run("--key", "c", "--entity", "B")
      #expect(column.code == 64 && column.errors.contains("there is no column \"c\""), "\(column.errors)")
      let end = try await run("--reference", "a=Other.code", "--entity", "C")
      #expect(end.code == 64 && end.errors.contains("there is no entity Other to refer to"), "\(end.errors)")
    }

    @Test("Files that are there stay, and mistakes are told")
    func mistakes() async throws {
      let root = try DaemonRoot()
      try root.payload("a.csv", "a,b\n1,2\n")
      try root.payload("bad.csv", "a,b\n1,\"x\"y\n")
      let output = root.directory.path
      let path = root.paths.payload
      func run(_ arguments: String...) async throws -> Tool {
        try await Tool.run("bobbinctl", ["model"] + arguments)
      }
      #expect(try await run("infer", path + "/a.csv", "--output", output).code == 0)
      let second = try await run("infer", path + "/a.csv", "--output", output)
      #expect(second.code == 74)
      #expect(second.errors.contains("exists already"))
      #expect(try await run("infer", path + "/a.csv", "--output", output, "--entity", "Other").code == 0)
      let bad = try await run("infer", path + "/bad.csv", "--output", output)
      #expect(bad.code == 66)
      #expect(bad.errors.contains("line 2, column 6, field 2: text after a closing quote"))
      #expect(try await run("infer", path + "/no.csv").code == 66)
      // Names that make a job file of more than a daemon takes.
      let names = (0..<20).map { "\($0)" + String(repeating: "x", count: 60_000) }.joined(separator: ",")
      try root.payload("long.csv", names + "\n" + Array(repeating: "1", count: 20).joined(separator: ",") + "\n")
      let long = try await run("infer", path + "/long.csv", "--output", output, "--entity", "Long", "--header", "yes")
      #expect(long.code == 66)
      #expect(long.errors.contains("more than the 1048576 bytes that a daemon takes"), "\(long.errors.prefix(300))")
      #expect(!FileManager.default.fileExists(atPath: output + "/Long.xcdatamodeld"))
      for arguments in [
        ["infer", "x", "--entity", "Job"], ["infer", "x", "--quote", "ab"],
      ] {
        #expect(try await Tool.run("bobbinctl", ["model"] + arguments).code == 64)
      }
    }
  }
}
