import ControlClient
import DaemonTesting
import Foundation
import JSONText
import PostgresTesting
import TestSupport
import Testing

extension SystemTests {
  @Suite("Objects that jobs have written")
  struct Objects {
    private static let count = 2_000
    private static let database = PostgresCluster.isAvailable()

    /// People, every third without a name and every tenth in a department.
    private static let table =
      "code,name,age,born,short\n"
      + (0..<count).map { number in
        // Without quotes it is no value.
        let name = number % 3 == 0 ? "" : "\"N\(number % 50) \"\"é\"\"\""
        return "c\(number),\(name),\(number % 90),2001-01-01,d\(number % 10)\n"
      }.joined()

    private func daemon(_ store: String = "", queryTimeout: String = "10s") async throws -> DaemonProcess {
      let root = try DaemonRoot(
        "\(DaemonRoot.quickFlushes)[Status]\nQueryTimeoutSec=\(queryTimeout)\n\(store)", model: Imports.model)
      let daemon = try await DaemonProcess.ready(root)
      try root.payload("departments.csv", "short,kind\n" + (0..<10).map { "d\($0),k\($0 % 2)\n" }.joined())
      try root.payload("people.csv", Self.table)
      let jobs = try await daemon.submit(
        """
        {"jobs": [
          {"type": "import", "id": "departments", "arguments": {"input": "departments.csv", "entity": "Department"}},
          {"type": "import", "id": "people", "after": ["departments"], "arguments": {"input": "people.csv",
            "entity": "Person", "columns": {"code": "code", "name": "name", "age": "age", "born": "born",
              "short": {"relationship": "department", "key": "short"}}}}]}
        """)
      try #require(jobs.allSatisfy { $0["state"] == "completed" }, "\(jobs)")
      return daemon
    }

    private func objects(
      _ daemon: DaemonProcess, _ query: [String: String], of entity: String = "Person"
    ) async throws -> JSONValue {
      let reply = try await daemon.request("GET", "/v1/objects/\(entity)", query: query)
      try #require(reply.status == 200, "\(reply)")
      return reply.body
    }

    /// All objects of a query, page by page.
    private func pages(_ daemon: DaemonProcess, _ query: [String: String], limit: Int) async throws -> [JSONValue] {
      var query = query
      query["limit"] = "\(limit)"
      var found: [JSONValue] = []
      repeat {
        let page = try await objects(daemon, query)
        found += page["objects"]?.array ?? []
        query["cursor"] = page["next"]?.string
      } while query["cursor"] != nil && found.count <= 2 * Self.count
      return found
    }

    private func value(_ object: JSONValue, _ name: String) -> JSONValue? { object["values"]?[name] }

    @Test("Pages have each object once, in the order that was asked for, in either database", arguments: [false, true])
    func pages(ofDatabase isPostgres: Bool) async throws {
      if isPostgres, !Self.database { return }
      let database = isPostgres ? try PostgresCluster.makeDatabase() : nil
      let daemon = try await daemon(database.map { "[Store]\nUrl=\($0.url)\n" } ?? "")
      let all = try await pages(daemon, [:], limit: 1_000)
      let keys = all.compactMap { $0["id"]?.string.flatMap { Int($0) } }
      #expect(keys.count == Self.count && keys == keys.sorted() && Set(keys).count == Self.count)
      for sort in ["name,-age", "-name", "department.kind,born,-code", "-age"] {
        let found = try await pages(daemon, ["sort": sort], limit: 300)
        let ids = found.compactMap { $0["id"]?.string }
        #expect(ids.count == Self.count && Set(ids).count == Self.count, "\(sort)")
        let whole = try await objects(daemon, ["sort": sort, "limit": "1000"])["objects"]?.array ?? []
        #expect(whole.map { $0["id"]?.string } == ids.prefix(1_000).map { $0 }, "\(sort)")
      }
      let names = try await pages(daemon, ["sort": "name"], limit: 500).map { value($0, "name") }
      #expect(names.prefix(667).allSatisfy { $0 == .null } && names[667] == "N0 \"é\"")
      let some = try await objects(
        daemon, ["predicate": #"age >= 88 AND department.kind == "k1" AND name != nil"#, "count": "true", "limit": "5"])
      let counted = (0..<Self.count).count { $0 % 90 >= 88 && $0 % 2 == 1 && $0 % 3 != 0 }
      #expect(some["count"]?.integer == Int64(counted))
      let ages = try #require(some["objects"]?.array).compactMap { value($0, "age")?.integer }
      #expect(ages.count == 5 && ages.allSatisfy { $0 >= 88 })
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("Relationships are expanded on request, and a single object has an address")
    func expanded() async throws {
      let daemon = try await daemon()
      let people = try await objects(daemon, ["expand": "department", "limit": "1", "sort": "-code"])
      let person = try #require(people["objects"]?.array?.first)
      #expect(value(person, "department").flatMap { value($0, "short") } == "d9")
      #expect(value(person, "born") == "2001-01-01T00:00:00.000Z")
      let departments = try await objects(
        daemon, ["expand": "people", "related": "7", "predicate": #"short == "d3""#], of: "Department")
      let department = try #require(departments["objects"]?.array?.first)
      let inside = try #require(value(department, "people"))
      #expect(inside["objects"]?.array?.count == 7 && inside["more"] == true)
      let id = try #require(person["id"]?.string)
      let alone = try await daemon.get("/v1/objects/Person/\(id)")
      #expect(value(alone, "code") == value(person, "code"))
      #expect(value(alone, "department")?["entity"] == "Department")
      #expect(try await daemon.request("GET", "/v1/objects/Person/0").status == 404)
      #expect(try await daemon.request("GET", "/v1/objects/Person/x").status == 404)
      let entities = try await daemon.get("/v1/entities")
      let relationship = entities["entities"]?.array?.first { $0["name"] == "Person" }?["relationships"]?.array?.first
      #expect(relationship?["destination"] == "Department" && relationship?["isToMany"] == false)
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("Mistakes are refused with their place, and bobbinctl points at it")
    func mistakes() async throws {
      let daemon = try await daemon()
      let cases: [(predicate: String, column: Int64?, words: String)] = [
        (#"age >= "#, 8, "expected"), (#"age = 1 AND nme == "x""#, 13, #"did you mean "name"?"#),
        (#"age == 1 OR age == "x""#, 13, "can't be compared"), (#"name MATCHES "(a+)+b""#, 6, "LIKE"),
        (#"name == %@"#, 9, "argument"), (#"name == "x"#, 9, "quotation"), ("department.people == nil", 1, "ANY"),
      ]
      for (predicate, column, words) in cases {
        let reply = try await daemon.request("GET", "/v1/objects/Person", query: ["predicate": predicate])
        let error = reply.body["error"]
        #expect(reply.status == 400 && error?["code"] == "bad-predicate", "\(predicate): \(reply)")
        #expect(error?["column"]?.integer == column, "\(predicate): \(reply)")
        #expect(error?["message"]?.string?.contains(words) == true, "\(predicate): \(reply)")
      }
      let pointed = try await daemon.tool("query", "Person", #"age = 1 AND nme == "x""#)
      #expect(
        pointed.code == 64 && pointed.errors.contains("  age = 1 AND nme == \"x\"\n              ^\n"), "\(pointed)")
      for query in [["sort": "nme"], ["expand": "name"], ["limit": "0"], ["cursor": "x"], ["format": "xml"]] {
        let reply = try await daemon.request("GET", "/v1/objects/Person", query: query)
        #expect(reply.status == 400 && reply.body["error"]?["code"] == "bad-request", "\(query): \(reply)")
      }
      let next = try #require(try await objects(daemon, ["limit": "1", "sort": "age"])["next"]?.string)
      let other = try await daemon.request("GET", "/v1/objects/Person", query: ["cursor": next, "sort": "-age"])
      #expect(other.status == 400 && other.body["error"]?["message"]?.string?.contains("another query") == true)
      for entity in ["Job", "Persn", "x%2Fy"] {
        let reply = try await daemon.request("GET", "/v1/objects/\(entity)")
        #expect(reply.status == 404 && reply.body["error"]?["code"] == "not-found", "\(entity): \(reply)")
      }
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("Exports have all objects as CSV or lines of JSON, which bobbinctl writes and imports take back")
    func exported() async throws {
      let daemon = try await daemon()
      let lines = try await daemon.tool("query", "Person", "--ndjson", "--sort", "-age", "--expand", "department")
      let objects = try lines.output.split(separator: "\n").map {
        try JSONValue(parsing: Array($0.utf8), dialect: .json)
      }
      #expect(objects.count == Self.count, "\(lines.errors)")
      #expect(objects.first.flatMap { value($0, "age") }?.integer == 89)
      #expect(objects.first.flatMap { value($0, "department") }?["values"]?["short"]?.string != nil)
      let table = try await daemon.tool("query", "Person", "--csv")
      #expect(table.output.split(separator: "\r\n").count == Self.count + 1)
      let header = try #require(table.output.split(separator: "\r\n").first).split(separator: ",").sorted()
      #expect(header == ["_id", "age", "born", "code", "department", "isActive", "name", "paid"])
      #expect(table.output.contains(#""N1 ""é""""#))
      let some = try await daemon.tool(
        "query", "Person", "age == 89", "--csv", "--limit", "3", "--expand", "department")
      #expect(some.output.split(separator: "\r\n").count == 4 && some.output.contains("department.short"))
      // No client takes what has changed for what it has, and whoever takes packed text gets it, in one piece.
      let address = "http://localhost/v1/objects/Person?format=csv"
      let curl = ["-s", "--unix-socket", daemon.root.paths.socket, "-H", "If-None-Match: W/\"0-1-0\"", address]
      #expect(try await Tool.run("/usr/bin/curl", curl).output == table.output)
      #expect(try await Tool.run("/usr/bin/curl", ["--compressed"] + curl).output == table.output)
      let head = try await Tool.run("/usr/bin/curl", ["--compressed", "-D", "-", "-o", "/dev/null"] + curl).output
      #expect(head.contains("Content-Encoding: gzip") && !head.contains("ETag"))
      // The same again, by a table that was exported.
      try daemon.root.payload("again.csv", table.output)
      let job = try await daemon.submit(
        """
        {"type": "import", "arguments": {"input": "again.csv", "entity": "Person", "mode": "skip", "key": "code",
          "columns": {"code": "code", "name": "name", "age": "age"}}}
        """
      ).first
      #expect(job?["result"]?["skipped"]?.integer == Int64(Self.count), "\(job?.serialized() ?? "")")
      let shown = try await daemon.tool("query", "Department", "--sort=-short", "--limit", "2", "--expand", "people")
      #expect(shown.output.contains("20+") && shown.errors.contains("--limit shows more"), "\(shown)")
      #expect(try await daemon.tool("query", "Person", "age < 2", "--count").output == "46\n")
      #expect(try await daemon.tool("query", "Persn").code == 2)
      let refused = try await daemon.tool("query", "Department", "--csv", "--expand", "people")
      #expect(refused.code == 64 && refused.errors.contains("to-many"), "\(refused)")
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("A query that takes too long is given up with a reason, and the daemon goes on")
    func slow() async throws {
      let daemon = try await daemon(queryTimeout: "1ms")
      let query = ["predicate": #"ANY department.people.name CONTAINS[cd] "nobody""#]
      let reply = try await daemon.request("GET", "/v1/objects/Person", query: query)
      #expect(reply.status == 422 && reply.body["error"]?["code"] == "too-slow", "\(reply)")
      try daemon.root.configure("[Status]\nQueryTimeoutSec=1min\n")
      #expect(try await daemon.request("GET", "/healthz").status == 200)
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("A stored picture is served with its type, so that no browser takes it for a page")
    func picture() async throws {
      let root = try DaemonRoot(DaemonRoot.quickFlushes)
      try root.write(try await TestPicture.jpeg(), to: root.paths.payload + "/in.jpg")
      let daemon = try await DaemonProcess.ready(root)
      let jobs = try await daemon.submit(
        #"""
        {"type": "image.encode", "arguments": {"input": "in.jpg", "outputs": [
          {"format": "png", "width": 30, "store": {"title": "<b>"}}]}}
        """#)
      try #require(jobs.first?["state"] == "completed", "\(jobs)")
      let image = try #require(
        try await objects(daemon, ["expand": "blob", "inline": "65536"], of: "Image")["objects"]?.array?.first)
      let data = try #require(value(image, "blob").flatMap { value($0, "data") })
      let path = try #require(data["href"]?.string)
      let url = "http://localhost" + path
      let reply = try await Tool.run("/usr/bin/curl", ["-sS", "-i", "--unix-socket", root.paths.socket, url])
      let head = reply.output.prefix(600).lowercased()
      #expect(head.contains("content-type: image/png") && head.contains("x-content-type-options: nosniff"), "\(head)")
      #expect(head.contains("sandbox"))
      let size = try #require(data["bytes"]?.integer)
      #expect(data["base64"]?.string.flatMap { Data(base64Encoded: $0) }?.count == Int(size))
      let id = try #require(image["id"]?.string)
      let title = try await Tool.run(
        "/usr/bin/curl",
        ["-sS", "-i", "--unix-socket", root.paths.socket, "http://localhost/v1/objects/Image/\(id)/title"])
      #expect(title.output.hasSuffix("<b>") && title.output.contains("text/plain"))
      #expect(try await daemon.request("GET", "/v1/objects/Image/\(id)/nothing").status == 404)
      #expect(try await daemon.stop() == .exited(code: 0))
    }
  }
}
