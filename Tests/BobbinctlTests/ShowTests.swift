import Foundation
import HTTPService
import Testing

@Suite("bobbinctl show")
struct ShowTests {
  @Test("A job is shown with everything known about it")
  func plain() async throws {
    let daemon = try TestDaemon(
      SampleReplies.job(
        "a b",
        [
          "arguments": #"{"z":1.5,"a":["/x",true,null]}"#, "result": #"{"rows":3}"#, "state": #""running""#,
          "finishedAt": "null", "submitter": "3999999",
          "progress": #"{"fraction":0.4,"unit":"bytes","done":40,"total":100,"message":null}"#,
        ]))
    let run = try await daemon.run("show", "a b")
    #expect(run.code == 0)
    #expect(daemon.requests == ["GET /v1/jobs/a%20b"])
    #expect(run.lines.contains("id         a b"))
    #expect(run.lines.contains("state      running"))
    #expect(run.lines.contains("attempt    1 of 5"))
    #expect(run.lines.contains("submitter  user 3999999"))
    #expect(run.lines.contains("progress   40 %, 40 of 100 bytes"))
    #expect(run.lines.contains(#"result     {"rows":3}"#))
    #expect(run.lines.contains(#"arguments  {"z":1.5,"a":["/x",true,null]}"#))
    #expect(!run.output.contains("error"))
  }

  @Test(
    "Progress is told with rate and time left, many bytes in a larger unit",
    arguments: [
      (#"{"unit":"files","done":3,"total":null,"ratePerSecond":0.123,"secondsLeft":null}"#, "3 files, 0.12 files/s"),
      (
        #"{"fraction":0.25,"unit":"rows","done":1000,"total":4000,"ratePerSecond":55.6,"secondsLeft":4000,"message":"m"}"#,
        "25 %, 1000 of 4000 rows, 56 rows/s, 1 h 6 min left, m"
      ),
      (
        #"{"fraction":0.5,"unit":"bytes","done":5.25e9,"total":1.05e10,"ratePerSecond":512,"secondsLeft":0}"#,
        "50 %, 5.3 of 10.5 GB, 512 bytes/s, 0 s left"
      ),
      (#"{"unit":"","done":7,"ratePerSecond":12345}"#, "7, 12345/s"),
    ])
  func progress(json: String, text: String) async throws {
    let daemon = try TestDaemon(SampleReplies.job("a", SampleReplies.unfinished.merging(["progress": json]) { $1 }))
    #expect(try await daemon.run("show", "a").lines.contains("progress   \(text)"))
    let list = try TestDaemon(
      SampleReplies.jobs(SampleReplies.job("a", SampleReplies.unfinished.merging(["progress": json]) { $1 })))
    #expect(try await list.run("list").output.contains(text))
  }

  @Test("A long result has a line for each of its parts, and nothing in it drives the terminal")
  func pretty() async throws {
    let result = #"{"outputs":[{"path":"a-800.webp","bytes":4711},{"path":"b\u001b.png","bytes":12}],"reused":false}"#
    let run = try await TestDaemon(SampleReplies.job("a", ["result": result])).run("show", "a")
    let start = try #require(run.lines.firstIndex { $0.hasPrefix("result     {") })
    #expect(run.lines[start] == "result     {")
    #expect(run.lines[start + 1] == #"             "outputs": ["#)
    #expect(run.lines.contains(#"                 "path": "a-800.webp","#))
    #expect(run.lines.last == "           }")
    #expect(run.output.unicodeScalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control })
  }

  @Test("A user is told by name and number, and by the number if nobody has it")
  func user() async throws {
    let known = try await TestDaemon(SampleReplies.job("a", ["submitter": "0"])).run("show", "a")
    #expect(known.lines.contains("submitter  root (0)"))
    let unknown = try await TestDaemon(SampleReplies.job("a", ["submitter": "3999999"])).run("show", "a")
    #expect(unknown.lines.contains("submitter  user 3999999"))
  }

  @Test("Of a running job the failure of an earlier attempt is told as such")
  func earlierFailure() async throws {
    let job = SampleReplies.job("a", SampleReplies.unfinished.merging(["error": #""no ink""#]) { $1 })
    let run = try await TestDaemon(job).run("show", "a")
    #expect(run.lines.contains("last error  no ink"))
    let list = try await TestDaemon(SampleReplies.jobs(job)).run("list")
    #expect(list.lines.last?.hasSuffix("the attempt before failed: no ink") == true)
  }

  @Test("Times are told in the local time zone")
  func timeZone() async throws {
    let daemon = try TestDaemon(SampleReplies.job("a"))
    let run = try await TestDaemon.run(["--root", daemon.root.path, "show", "a"], environment: ["TZ": "EST5"])
    #expect(run.output.contains("created    2026-01-01 22:04:05 -0500, "))
    #expect(run.lines.contains("took       1.3 s"))
  }

  private func daemonWithoutX() throws -> TestDaemon {
    try TestDaemon { request in
      let id = request.target.components.last ?? ""
      let reply = id == "x" ? SampleReplies.notFound : SampleReplies.job(id)
      return .now(.json(data: Data(reply.utf8), status: id == "x" ? 404 : 200))
    }
  }

  @Test("A missing job among others is reported, ends with 2, and the others are shown")
  func missing() async throws {
    let run = try await daemonWithoutX().run("show", "a", "x", "b")
    #expect(run.code == 2)
    #expect(run.lines.count { $0.hasPrefix("id ") } == 2)
    #expect(run.lines.count { $0.isEmpty } == 1)
    #expect(run.errors == "bobbinctl: there is no job \"x\"\nbobbinctl: hint: see \"bobbinctl list\"\n")
  }

  @Test("A reply nested too deep ends with 69 instead of a crash", arguments: [300, 100_000], [[], ["--json"]])
  func deep(levels: Int, options: [String]) async throws {
    let nested = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
    let daemon = try TestDaemon(SampleReplies.job("a", ["arguments": nested]))
    let run = try await TestDaemon.run(["--root", daemon.root.path, "show", "a"] + options)
    // What is printed as it came only has to be JSON that Foundation reads, which is up to 512 levels.
    #expect(run.code == (levels == 300 && options == ["--json"] ? 0 : 69))
  }

  @Test("--json prints one document per job, errors too")
  func json() async throws {
    let run = try await daemonWithoutX().run("show", "--json", "a", "x")
    #expect(run.code == 2)
    #expect(run.lines == [SampleReplies.job("a"), SampleReplies.notFound])
  }

  @Test("Hostile IDs reach the daemon unharmed and the terminal escaped", arguments: ["a/b?c#d%", "\u{1b}[2J", "-é\n"])
  func hostile(id: String) async throws {
    let daemon = try daemonWithoutX()
    let run = try await daemon.run("show", "--", id)
    #expect(run.code == 0)
    let path = try #require(daemon.requests.first)
    #expect(path.dropFirst("GET /v1/jobs/".count).removingPercentEncoding == id)
    #expect(run.output.unicodeScalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control })
  }
}
