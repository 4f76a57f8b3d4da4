import DaemonTesting
import Foundation
import JSONText
import PostgresTesting
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("The status interface is what its description says")
  struct Contract {
    @Test("Every reply has the keys and the types that the served description tells, and no others")
    func replies() async throws {
      let root = try DaemonRoot()
      try root.payload("rows.csv", "job,number\na,1\nb,x\n")
      let daemon = try await DaemonProcess.ready(root)
      let description = ReplyDescription(try await daemon.get("/v1/openapi.json"))
      let import1 =
        #"{"id": "rows", "type": "import", "arguments": {"input": "rows.csv", "entity": "Reading", "maxRejects": 5}}"#
      _ = try await daemon.submit(#"{"jobs": [{"id": "done", "type": "noop", "batch": "b"}, \#(import1)]}"#)
      _ = try await daemon.request("POST", "/v1/jobs", body: #"{"id": "odd", "type": "unknown", "after": ["none"]}"#)
      let gets = [
        "/v1/status", "/v1/jobs", "/v1/queues", "/v1/entities", "/v1/schedules", "/v1/folders", "/v1/fleet", "/healthz",
        "/v1/openapi.json",
      ]
      for path in gets { try await Self.expect(daemon, description, "GET", path) }
      for id in ["done", "rows", "odd", "none"] {
        for part in ["", "/why", "/attempts", "/rejects"] {
          try await Self.expect(daemon, description, "GET", "/v1/jobs/\(id)\(part)", as: "/v1/jobs/{id}\(part)")
        }
      }
      try await Self.expect(daemon, description, "GET", "/v1/explain", query: ["path": "/etc/passwd"])
      let posts = [
        ("/v1/jobs", #"{"id": "more", "type": "noop"}"#), ("/v1/jobs", "{"), ("/v1/pause", #"{"queue": "q"}"#),
        ("/v1/resume", "{}"), ("/v1/resume", "[]"), ("/v1/flush", ""), ("/v1/copy", ""),
        ("/v1/commands", #"{"command": "hold", "jobs": ["odd", "none", "done"]}"#),
        ("/v1/commands", #"{"command": "cancel", "where": {"state": "held"}}"#),
        ("/v1/fleet/drain", #"{"host": "1"}"#),
      ]
      for (path, body) in posts { try await Self.expect(daemon, description, "POST", path, body: body) }
      try await Self.expect(
        daemon, description, "POST", "/v1/jobs/odd/edit", as: "/v1/jobs/{id}/edit", body: #"{"priority": 1}"#)
      try await Self.expect(
        daemon, description, "POST", "/v1/schedules/none/run", as: "/v1/schedules/{name}/run", body: "")
    }

    private static let hasDatabase = PostgresCluster.isAvailable()

    @Test(
      "Every route that reads gives what the description tells, alone and in a fleet, where there is one of each thing",
      arguments: [false, true])
    func reads(inFleet: Bool) async throws {
      if inFleet, !Self.hasDatabase { return }
      let database = inFleet ? try PostgresCluster.makeDatabase() : nil
      let fleet = database.map { "[Store]\nUrl=\($0.url)\n[Fleet]\nName=a\n" } ?? ""
      let root = try DaemonRoot(fleet + DaemonRoot.quickFlushes)
      let (folder, template) = (root.directory.path("in"), root.directory.path("template.json5"))
      try root.write("{type: 'noop'}", to: template)
      try root.write("text", to: folder + "/file")
      try root.write("[Folder]\nPath=\(folder)\nJob=\(template)\nSettle=0\n", to: root.paths.hotFolders + "/in.conf")
      try root.write(#"{"type": "noop"}"#, to: root.paths.schedules + "/yearly.json")
      try root.write("[Schedule]\nOnCalendar=yearly\nJob=yearly.json\n", to: root.paths.schedules + "/yearly.conf")
      try root.payload("rows.csv", "job,number\na,1\nb,x\n")
      let daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.submit(
        #"""
        {"jobs": [
          {"id": "first", "type": "noop"},
          {"id": "rows", "type": "import", "batch": "b", "after": ["first"],
            "arguments": {"input": "rows.csv", "entity": "Reading", "maxRejects": 5}}]}
        """#)
      let next = #"{"type": "noop", "batch": "b", "after": ["rows"], "notBefore": "2199-01-01T00:00:00Z"}"#
      #expect(try await daemon.request("POST", "/v1/jobs", body: next).status == 202)
      #expect(try await daemon.request("POST", "/v1/schedules/yearly/run", body: "").status == 200)
      _ = try await daemon.get("/v1/queues") { $0["types"]?.array?.isEmpty == false }
      _ = try await daemon.get("/v1/folders") { $0["folders"]?.array?.first?["last"]?.object != nil }
      let objects = try await daemon.get("/v1/objects/Reading")["objects"]?.array
      let object = try #require(objects?.first?["id"]?.string)
      // What stands for the parameters of paths; a new route may need a line here.
      let places = [
        ("/jobs/{id}", "/jobs/rows"), ("/{entity}/{id}", "/Reading/\(object)"), ("{entity}", "Reading"),
        ("{attribute}", "job"), ("/page/{name}", "/page/main.js"),
      ]
      let description = ReplyDescription(try await daemon.get("/v1/openapi.json"))
      var bodies: [String: JSONValue] = [:]
      for (method, route) in description.routes where method == "GET" {
        let path = places.reduce(route) { $0.replacing($1.0, with: $1.1) }
        if path.contains("{") {
          Issue.record("nothing stands for the parameters of \(route)")
          continue
        }
        // A host that is alone has no fleet to tell of.
        let status = route == "/v1/fleet" && !inFleet ? 404 : 200
        let types = description.mediaTypes(of: method, route, status: status)
        if types.contains("application/json") {
          let query = route == "/v1/explain" ? ["path": "/etc/passwd"] : [:]
          let reply = try await Self.expect(daemon, description, method, path, query: query, as: route)
          #expect(reply.status == status, "\(route)")
          bodies[route] = reply.body
        } else {
          // A stream has no end.
          let head = types == ["text/event-stream"] ? ["--head"] : []
          let form = ["-sS", "-o", "/dev/null", "-w", "%{http_code} %{content_type}"]
          let tool = try await Tool.run(
            "/usr/bin/curl", form + head + ["--unix-socket", root.paths.socket, "http://x\(path)"])
          let isDescribed = types.contains { tool.output.hasPrefix("\(status) \($0)") }
          #expect(isDescribed, "\(route), \(types): \(tool.output)\(tool.errors)")
        }
      }
      // An empty list would be as described, whatever its elements are.
      for (route, list) in [
        ("/v1/jobs", "jobs"), ("/v1/jobs/{id}/relatives", "after"), ("/v1/jobs/{id}/relatives", "before"),
        ("/v1/jobs/{id}/rejects", "rejects"), ("/v1/batches", "batches"), ("/v1/schedules", "schedules"),
        ("/v1/folders", "folders"), ("/v1/objects/{entity}", "objects"), ("/v1/entities", "entities"),
        ("/v1/queues", "types"), ("/v1/types", "types"), ("/v1/configuration", "sections"),
      ] {
        #expect(bodies[route]?[list]?.array?.isEmpty == false, "\(route): \(list)")
      }
      #expect((bodies["/v1/fleet"]?["hosts"]?.array?.count == 1) == inFleet)
      #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)")
      withExtendedLifetime(database) {}
    }

    @Test("A condition that is misspelt, or given twice, is refused, and selects nothing else")
    func unknownItems() async throws {
      let daemon = try await DaemonProcess.ready(try DaemonRoot())
      _ = try await daemon.submit(#"{"id": "a", "type": "noop"}"#)
      func message(_ path: String) async throws -> String {
        let socket = daemon.root.paths.socket
        let reply = try await Tool.run("/usr/bin/curl", ["-sS", "--unix-socket", socket, "http://x\(path)"]).output
        let body = try JSONValue(parsing: Array(reply.utf8), dialect: .json)
        #expect(body["error"]?["code"] == "bad-request", "\(path): \(body)")
        return body["error"]?["message"]?.string ?? ""
      }
      let wrong = try await message("/v1/jobs?stat=held")
      #expect(wrong.contains("\"stat\"") && wrong.contains("state, type, queue"), "\(wrong)")
      #expect(try await message("/v1/jobs?state=held&state=waiting").contains("more than once"))
      #expect(try await message("/v1/jobs?argument.=1").contains("argument.NAME"))
      #expect(try await message("/v1/status?pretty").contains("nor any other"))
      // What watchers and browsers add is none of our business.
      for path in ["/healthz?at=1", "/?theme=dark", "/metrics?at=1"] {
        let arguments = ["-sSf", "--unix-socket", daemon.root.paths.socket, "http://x\(path)"]
        #expect(try await Tool.run("/usr/bin/curl", arguments).code == 0)
      }
    }

    @Test("The description has the filters of lists, also those whose names end as the client likes")
    func filters() async throws {
      let daemon = try await DaemonProcess.ready(try DaemonRoot("[Jobs]\nUnknownTypes=hold\n"))
      let job = #"{"id": "a", "type": "of-another-day", "arguments": {"size.x": "1"}}"#
      _ = try await daemon.request("POST", "/v1/jobs", body: #"{"jobs": [\#(job), {"id": "b", "type": "noop"}]}"#)
      let parameters = try await daemon.get("/v1/openapi.json")["paths"]?["/v1/jobs"]?["get"]?["parameters"]?.array
      let argument = try #require(parameters?.first { $0["name"]?.string == "argument" })
      #expect(argument["style"]?.string == "form" && argument["explode"]?.bool == true)
      let pattern = try #require(argument["schema"]?["patternProperties"]?.object?.first?.key)
      let name = "argument.size.x"
      #expect(try name.firstMatch(of: Regex(pattern)) != nil)
      let jobs = try await daemon.request("GET", "/v1/jobs", query: [name: "1"]).body["jobs"]?.array
      #expect(jobs?.compactMap { $0["id"]?.string } == ["a"])
    }

    @Test("Whatever is wrong with a request, the reply says so in the one form, and names the key")
    func refusals() async throws {
      let daemon = try await DaemonProcess.ready(try DaemonRoot())
      let lists = [
        ("limit", "0"), ("limit", "x"), ("order", "up"), ("cursor", "x"), ("cursor", ""), ("state", "sleeping"),
        ("state", ""), ("submitter", "anna"), ("submitter", "-1"), ("since", "soon"), ("until", "2026-13-01T00:00:00Z"),
        ("text", ""), ("text", String(repeating: "a", count: 201)),
      ]
      for (key, value) in lists {
        let reply = try await daemon.request("GET", "/v1/jobs", query: [key: value])
        #expect(reply.status == 400, "\(key)=\(value)")
        #expect(reply.body["error"]?["code"] == "bad-request")
        #expect(reply.body["error"]?["message"]?.string?.contains(key) == true, "\(reply.body.serialized())")
      }
      let others: [(String, String, String?, Int, String)] = [
        ("GET", "/v1", nil, 404, "not-found"), ("GET", "/v2/jobs", nil, 404, "not-found"),
        ("DELETE", "/v1/jobs", nil, 405, "method-not-allowed"), ("POST", "/v1/status", "", 405, "method-not-allowed"),
        ("POST", "/v1/commands", "{", 400, "bad-request"), ("POST", "/v1/commands", "[]", 400, "bad-request"),
        ("POST", "/v1/commands", #"{"command": "hold", "where": {"since": 3}}"#, 400, "bad-request"),
        ("POST", "/v1/commands", #"{"command": "hold", "where": {"argument": {"a": 1}}}"#, 400, "bad-request"),
        ("POST", "/v1/commands", #"{"command": "hold", "jobs": ["a"], "dryRun": true}"#, 400, "bad-request"),
        ("POST", "/v1/jobs", #"{"type": 3}"#, 400, "invalid-job"), ("POST", "/v1/jobs", "", 400, "invalid-job"),
        ("POST", "/v1/jobs", String(repeating: " ", count: 9 << 20), 413, "body-too-large"),
        ("POST", "/v1/jobs", String(repeating: " ", count: 2 << 20), 413, "body-too-large"),
      ]
      for (method, path, body, status, code) in others {
        let reply = try await daemon.request(method, path, body: body)
        #expect(reply.status == status && reply.body["error"]?["code"]?.string == code, "\(method) \(path) \(reply)")
      }
    }

    @Test("A key makes a submission known when it comes again, also to a daemon that was killed, and no other body")
    func keys() async throws {
      let root = try DaemonRoot()
      var daemon = try await DaemonProcess.ready(root)
      let body = #"{"jobs": [{"type": "noop"}, {"type": "noop", "id": "named"}]}"#
      func post(_ body: String, _ key: String, more: [String] = []) async throws -> JSONValue {
        let arguments =
          ["-sS", "--unix-socket", root.paths.socket, "-H", "Idempotency-Key: \(key)", "--data-binary", body] + more
          + ["http://x/v1/jobs?wait=60"]
        return try JSONValue(parsing: Array(try await Tool.run("/usr/bin/curl", arguments).output.utf8))
      }
      func ids(_ reply: JSONValue) -> [String] { reply["jobs"]?.array?.compactMap { $0["id"]?.string } ?? [] }
      let first = try await post(body, "k 1")
      #expect(ids(first).count == 2 && first["jobs"]?.array?.allSatisfy { $0["repeated"] == false } == true)
      try await daemon.kill()
      daemon = try await DaemonProcess.ready(root)
      let again = try await post(body, "k 1")
      #expect(ids(again) == ids(first))
      #expect(again["jobs"]?.array?.allSatisfy { $0["repeated"] == true } == true)
      let other = try await post(#"{"type": "noop"}"#, "k 1")
      #expect(other["error"]?["code"] == "key-reused")
      #expect(ids(try await post(#"{"type": "noop"}"#, "k 2")).count == 1)
      #expect(try await post(body, String(repeating: "k", count: 256))["error"]?["code"] == "bad-request")
      let lines = ["-H", "Content-Type: application/x-ndjson"]
      #expect(try await post(#"{"type": "noop"}"#, "k 3", more: lines)["error"]?["code"] == "bad-request")
      #expect(try await daemon.get("/v1/jobs")["count"] == 3)
    }

    @Test("All jobs that a command's conditions match are counted, shown in a trial, and each told what became of it")
    func selections() async throws {
      let daemon = try await DaemonProcess.ready(try DaemonRoot())
      _ = try await daemon.submit(#"{"type": "noop", "id": "over", "queue": "q"}"#)
      let due = #""notBefore": "2199-01-01T00:00:00Z""#
      for id in ["first", "second", "third"] {
        _ = try await daemon.request(
          "POST", "/v1/jobs", body: #"{"type": "noop", "id": "\#(id)", "queue": "q", \#(due)}"#)
      }
      func command(_ body: String) async throws -> JSONValue {
        try await daemon.request("POST", "/v1/commands", body: body).body
      }
      let trial = try await command(#"{"command": "hold", "where": {"text": "IR"}, "dryRun": true}"#)
      #expect(trial["matched"] == 2 && trial["done"] == 0 && trial["dryRun"] == true)
      #expect(trial["jobs"]?.array?.map { $0["result"] } == ["matched", "matched"])
      let held = try await command(#"{"command": "hold", "where": {"text": "IR"}}"#)
      #expect(held["matched"] == 2 && held["done"] == 2 && held["counts"] == ["done": 2])
      #expect(Set(held["jobs"]?.array?.compactMap { $0["id"]?.string } ?? []) == ["first", "third"])
      let list = try await daemon.request("GET", "/v1/jobs", query: ["state": "held", "order": "oldest"]).body
      #expect(list["jobs"]?.array?.compactMap { $0["id"]?.string } == ["first", "third"])
      let all = try await command(
        #"{"command": "release", "where": {"queue": "q", "state": ["held", "scheduled", "completed"]}}"#)
      #expect(all["matched"] == 4 && all["done"] == 2 && all["counts"] == ["done": 2, "not-possible": 2])
      let over = all["jobs"]?.array?.first { $0["id"] == "over" }
      #expect(over?["result"] == "not-possible" && over?["state"] == "completed")
      let cancelled = try await command(#"{"command": "cancel", "where": {"queue": "q"}}"#)
      #expect(cancelled["counts"] == ["done": 3])
    }

    @Test("A reply is packed for who takes that, and not sent again to who has it")
    func forms() async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      for number in 0..<20 { _ = try await daemon.submit(#"{"type": "noop", "id": "job-\#(number)"}"#) }
      let plain = try await daemon.get("/v1/jobs")
      func curl(_ options: String...) async throws -> String {
        let arguments = ["-sS", "--unix-socket", root.paths.socket] + options + ["http://x/v1/jobs"]
        return try await Tool.run("/usr/bin/curl", arguments).output
      }
      let packed = try await curl("--compressed")
      #expect(try JSONValue(parsing: Array(packed.utf8)) == plain)
      let head = try await curl("-D", "-", "-o", "/dev/null", "-H", "Accept-Encoding: gzip;q=1.0, identity; q=0.5")
      #expect(head.contains("Content-Encoding: gzip\r\n") && head.contains("Vary: Accept-Encoding\r\n"))
      let tag = try #require(head.firstMatch(of: /ETag: (W\/"[^"]+")\r\n/)?.1)
      let same = try await curl("-D", "-", "-H", "If-None-Match: \"x\", \(tag)")
      #expect(same.hasPrefix("HTTP/1.1 304 ") && same.hasSuffix("\r\n\r\n"))
      let refused = try await curl("-D", "-", "-o", "/dev/null", "-H", "Accept-Encoding: gzip;q=0")
      #expect(!refused.contains("Content-Encoding"))
      _ = try await daemon.submit(#"{"type": "noop"}"#)
      let new = try await curl("-D", "-", "-o", "/dev/null", "-H", "If-None-Match: \(tag)")
      #expect(new.hasPrefix("HTTP/1.1 200 "))
    }

    @discardableResult
    private static func expect(
      _ daemon: DaemonProcess, _ description: ReplyDescription, _ method: String, _ path: String,
      query: [String: String] = [:], as pattern: String? = nil, body: String? = nil
    ) async throws -> (status: Int, body: JSONValue) {
      let reply = try await daemon.request(method, path, query: query, body: body)
      let problems = description.problems(reply.body, of: method, pattern ?? path, status: reply.status)
      #expect(problems == [], "\(method) \(path): \(reply.status) \(reply.body.serialized())")
      return reply
    }
  }
}
