import DaemonTesting
import Foundation
import JSONText
import TestSupport
import Testing

extension SystemTests {
  @Suite("Inputs of imports")
  struct Inputs {
    /// One table, written in several ways.
    struct Form: Sendable, CustomTestStringConvertible {
      let testDescription: String
      let text: String
      var arguments = ""
      /// What reads standard input and packs or recodes it.
      var command = "cat"
      /// What the job's result tells of the input.
      var found: [String: JSONValue] = [:]
    }

    static let forms = [
      Form(testDescription: "CSV", text: "job,number\nä,1\n\"x,y\",-2\n", found: ["format": "csv", "separator": ","]),
      Form(
        testDescription: "TSV", text: "job\tnumber\r\nä\t1\r\nx,y\t-2\r\n", found: ["format": "tsv", "separator": "\t"]),
      Form(testDescription: "semicolons", text: "number;job\n1;ä\n-2;'x,y'\n", arguments: #""quote": "'""#),
      Form(
        testDescription: "another character", text: "report\njob^number\n# note\nä^1\nx,y^-2\n",
        arguments: ##""separator": "^", "comment": "#", "skipLines": 1, "header": true"##),
      Form(
        testDescription: "a list of columns", text: "1,ä\n-2,\"x,y\"\n", arguments: #""columns": ["number", "job"]"#),
      Form(
        testDescription: "a list of columns below a header", text: "a,a\n1,ä\n-2,\"x,y\"\n",
        arguments: #""columns": ["number", "job"], "header": true"#),
      Form(
        testDescription: "ragged rows", text: "ä,1\nx\"y,-2,7\n",
        arguments: #""columns": ["job", "number"], "raggedRows": "fit", "strayQuotes": "literal""#),
      Form(
        testDescription: "NDJSON",
        text: "{\"job\":\"\\u00e4\",\"number\":1}\n{\"number\":-2,\"no\":[],\"job\":\"x,y\"}\n",
        found: ["format": "ndjson"]),
      Form(
        testDescription: "a JSON array", text: "[{\"a\":{\"b\":\"ä\"},\"n\":1},\n{\"n\":-2,\"a\":{\"b\":\"x,y\"}}]",
        arguments: #""columns": {"a.b": "job", "n": "number"}"#, found: ["format": "json"]),
      Form(
        testDescription: "an array inside", text: #"{"meta":{},"list":{"rows":[["ä",1],["x,y",-2]]}}"#,
        arguments: #""records": "list.rows", "columns": ["job", "number"]"#),
      Form(
        testDescription: "gzip", text: "job,number\nä,1\n\"x,y\",-2\n", command: "gzip -c",
        found: ["compression": "gzip"]),
      Form(
        testDescription: "zstd", text: "{\"job\":\"ä\",\"number\":1}\n{\"number\":-2,\"job\":\"x,y\"}\n",
        command: "zstd -c",
        found: ["compression": "zstd", "format": "ndjson"]),
      Form(
        testDescription: "UTF-16", text: "job,number\nä,1\n\"x,y\",-2\n", command: "iconv -f utf-8 -t utf-16",
        found: ["encoding": "utf-16le"]),
      Form(
        testDescription: "Windows-1252, packed", text: "job;number\nä;1\nx,y;-2\n",
        command: "iconv -f utf-8 -t cp1252 | gzip -c", found: ["encoding": "windows-1252", "separator": ";"]),
      Form(
        testDescription: "a stated encoding", text: "job;number\nä;1\nx,y;-2\n", arguments: #""encoding": "cp437""#,
        command: "iconv -f utf-8 -t cp437", found: ["encoding": "cp437"]),
    ]

    @Test("A table comes in however it is written, and the result tells how that is", arguments: forms)
    func imported(form: Form) async throws {
      let root = try DaemonRoot()
      try root.payload("in", form.text)
      let path = root.paths.payload + "/in"
      let packing = try await Tool.run("/bin/sh", ["-c", "{ \(form.command); } <\(path) >\(path)put"])
      #expect(packing.code == 0, "\(packing.errors)")
      let daemon = try await DaemonProcess.ready(root)
      let more = form.arguments.isEmpty ? "" : ", \(form.arguments)"
      let job = try #require(
        try await daemon.submit(
          #"{"type": "import", "arguments": {"input": "input", "entity": "Reading"\#(more)}}"#
        ).first)
      #expect(job["state"]?.string == "completed", "\(job.serialized())")
      let rows = try await root.sql("SELECT job, number FROM Reading ORDER BY _key")
      #expect(rows.replacing("x\"y", with: "x,y") == "ä|1\nx,y|-2")
      for (key, value) in form.found { #expect(job["result"]?["input"]?[key] == value) }
    }

    @Test("An archive that is damaged or cut off fails its job, and no row is kept")
    func damaged() async throws {
      let root = try DaemonRoot()
      try root.payload("in", "job,number\n" + (0..<50_000).map { "a,\($0 * 7919 % 65_537)\n" }.joined())
      let path = root.paths.payload + "/in"
      for (name, command) in [
        ("cut.gz", "gzip -c | head -c 100000"), ("cut.zst", "zstd -c | head -c 50000"),
        ("bad.gz", "gzip -c | sed 's/a/b/g'"),
      ] {
        let packing = try await Tool.run("/bin/sh", ["-c", "{ \(command); } <\(path) >\(root.paths.payload)/\(name)"])
        #expect(packing.code == 0, "\(packing.errors)")
      }
      let daemon = try await DaemonProcess.ready(root)
      for (name, reason) in [("cut.gz", "cut off"), ("cut.zst", "cut off"), ("bad.gz", "damaged")] {
        let job = try #require(try await daemon.submit(TestModel.importJob(name, name)).first)
        #expect(job["state"]?.string == "discarded")
        #expect(job["error"]?.string?.contains(reason) == true, "\(job.serialized())")
      }
      #expect(try await root.sql("SELECT count(*) FROM Reading") == "0")
    }

    @Test(
      "What is wrong with how an input is said to be written is told when the job is submitted",
      arguments: [
        (#""separator": "ab""#, "must be one ASCII character"),
        (#""quote": ",", "separator": ",""#, "must differ"), (#""encoding": "klingon""#, "there is no encoding"),
        (#""format": "xml""#, "must be one of csv, tsv, ndjson, json"), (#""compression": "rar""#, "must be one of"),
        (#""format": "ndjson", "separator": ";""#, "has no meaning for JSON"),
        (#""skipLines": -1"#, "must lie between"),
        (#""seperator": ";""#, #"did you mean "separator"?"#), (#""header": "yes""#, "must be true or false"),
      ])
    func mistakes(arguments: String, message: String) async throws {
      let daemon = try await DaemonProcess.ready(try DaemonRoot())
      let text = #"{"type": "import", "arguments": {"input": "x", "entity": "Reading", \#(arguments)}}"#
      let reply = try await daemon.request("POST", "/v1/jobs", body: text)
      #expect(reply.status == 400, "\(reply)")
      #expect(reply.body.serialized().contains(JSONValue.string(message).serialized().dropFirst().dropLast()))
    }
  }
}
