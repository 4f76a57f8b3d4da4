import DaemonTesting
import Foundation
import Glibc
import JSONText
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("Jobs that encode pictures")
  struct ImageJobs {
    private let root: DaemonRoot

    init() throws {
      root = try DaemonRoot(
        """
        [Writer]
        FlushIntervalSec=20ms
        [ImagePreset card]
        Path={name}-{preset}-{width}x{height}.{format}
        Mode=640
        Format=webp
        Width=40
        Height=40
        Fit=cover
        """)
    }

    /// Runs one job to its end and returns its result.
    private func run(_ arguments: String, _ daemon: DaemonProcess, id: String = "job") async throws -> JSONValue {
      try root.drop(
        #"{"type": "image.encode", "id": "\#(id)", "arguments": \#(arguments)}"#, as: FileName("\(id).json"))
      try await daemon.waitUntilSpoolIsEmpty()
      return try #require(try await daemon.get("/v1/jobs/\(id)")["result"])
    }

    private func header(_ path: String) async throws -> String {
      let tool = try await Tool.run("/usr/bin/vipsheader", ["-a", path])
      try #require(tool.code == 0, "\(tool.errors)")
      return tool.output
    }

    @Test("Names are made by template, modes set, presets used, and the result has sizes and hashes")
    func files() async throws {
      try root.write(try await TestPicture.jpeg(), to: root.paths.payload + "/in.photo.jpg")
      let daemon = try await DaemonProcess.ready(root)
      let result = try await run(
        #"""
        {"input": "in.photo.jpg", "placeholder": true, "outputs": [
          {"preset": "card"}, {"preset": "card", "width": 20, "format": "avif"},
          {"path": "{sha256}.png", "width": 8, "mode": "600"}]}
        """#, daemon)
      let outputs = try #require(result["outputs"]?.array)
      let hash = try #require(outputs[2]["sha256"]?.string)
      let names = ["in.photo-card-40x40.webp", "in.photo-card-20x40.avif", "\(hash).png"]
      #expect(outputs.map { $0["path"]?.string } == names.map { root.paths.payload + "/" + $0 })
      let left = try Directory(path: root.paths.payload).entries().map(\.description).sorted()
      #expect(left == (names + ["in.photo.jpg"]).sorted())
      for (name, mode) in zip(names, [0o640, 0o640, 0o600] as [mode_t]) {
        var status = stat()
        try #require(stat(root.paths.payload + "/" + name, &status) == 0)
        #expect(status.st_mode & 0o7777 == mode, "\(name)")
      }
      for (output, name) in zip(outputs, names) {
        let sum = try await Tool.run("/usr/bin/sha256sum", [root.paths.payload + "/" + name])
        #expect(sum.output.prefix(64) == output["sha256"]?.string ?? "")
        let found = try await header(root.paths.payload + "/" + name)
        #expect(found.contains("\nwidth: \(output["width"]?.integer ?? 0)\n"))
      }
      #expect(result["input"]?["format"] == "jpeg" && result["input"]?["sha256"]?.string?.count == 64)
      #expect(result["placeholder"]?["colour"]?.string?.first == "#")
      #expect(result["placeholder"]?["picture"]?.string?.hasPrefix("data:image/webp;base64,") == true)
    }

    @Test("A picture can be read by all whatever the umask, or as [Image] Mode says")
    func modes() async throws {
      try root.payload("in.jpg", try await TestPicture.jpeg())
      let daemon = try await DaemonProcess.ready(
        root, wrapper: ["/bin/sh", "-c", "umask 077 && exec \"$0\" \"$@\""])
      func mode(_ name: String) throws -> mode_t {
        var status = stat()
        try #require(stat(root.paths.payload + "/" + name, &status) == 0)
        return status.st_mode & 0o7777
      }
      _ = try await run(#"{"input": "in.jpg", "outputs": [{"path": "a.png"}]}"#, daemon, id: "a")
      #expect(try mode("a.png") == 0o644)
      try root.configure("[Writer]\nFlushIntervalSec=20ms\n[Image]\nMode=640\n")
      try await daemon.reload()
      _ = try await run(#"{"input": "in.jpg", "outputs": [{"path": "b.png"}]}"#, daemon, id: "b")
      #expect(try mode("b.png") == 0o640)
    }

    @Test("Pictures are kept as objects, with a file and without, in files of the store's own folder")
    func objects() async throws {
      try root.write(try await TestPicture.jpeg(), to: root.paths.payload + "/in.jpg")
      let daemon = try await DaemonProcess.ready(root)
      let result = try await run(
        #"""
        {"input": "in.jpg", "outputs": [
          {"path": "a.png", "width": 40, "store": {"title": "both"}},
          {"format": "webp", "width": 30, "store": {"title": "object"}}, {"path": "c.png", "width": 20}]}
        """#, daemon)
      let rows = try await root.sql("SELECT title, format, width FROM Image ORDER BY title")
      #expect(rows == "both|png|40\nobject|webp|30")
      // Even what is smaller than ExternalDataThreshold stays in the file that the helper has written.
      let names = try await root.sql(
        "SELECT ImageBlob.data FROM ImageBlob JOIN Image ON Image.blob = ImageBlob._key ORDER BY title"
      ).split(separator: "\n")
      let folder = root.paths.state + "/bobbin_files/"
      let files = try names.map { try Data(contentsOf: URL(filePath: folder + $0)) }
      #expect(try files.first == Data(contentsOf: URL(filePath: root.paths.payload + "/a.png")))
      #expect(files.map { Int64($0.count) } == result["outputs"]?.array?.prefix(2).map { $0["bytes"]?.integer ?? 0 })
      let stored = try await header(folder + names[1])
      #expect(stored.contains("vips-loader: webpload") && stored.contains("\nwidth: 30\n"))
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "staging") == [])
      #expect(result["outputs"]?.array?[1]["path"] == nil)
    }

    @Test("Outputs that come to the same name are refused, and nothing is left")
    func sameName() async throws {
      try root.write(try await TestPicture.jpeg(), to: root.paths.payload + "/in.jpg")
      let daemon = try await DaemonProcess.ready(root)
      let job = #"""
        {"type": "image.encode", "id": "twice", "arguments": {"input": "in.jpg", "outputs": [
          {"path": "{width}.png", "width": 8}, {"path": "{width}.png", "width": 8, "store": {}}]}}
        """#
      try root.drop(job, as: "twice.json")
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try root.reason("twice.json").contains("outputs 1 and 2 are both called 8.png"))
      #expect(try Directory(path: root.paths.payload).entries() == ["in.jpg"])
      #expect(try await root.sql("SELECT count(*) FROM Image") == "0")
      #expect(try FileManager.default.contentsOfDirectory(atPath: root.paths.state + "/bobbin_files/staging") == [])
    }

    @Test("A job without outputs tells what the input is, and its placeholder if asked", arguments: [false, true])
    func noOutputs(_ reuse: Bool) async throws {
      try root.write(try await TestPicture.jpeg(), to: root.paths.payload + "/in.jpg")
      let daemon = try await DaemonProcess.ready(root)
      let reused = #""reuse": \#(reuse)"#
      let plain = try await run(#"{"input": "in.jpg", "outputs": [], \#(reused)}"#, daemon)
      #expect(plain["input"]?["format"] == "jpeg" && plain["input"]?["width"] == 96)
      #expect(plain["outputs"]?.array?.isEmpty == true && plain["placeholder"] == nil && plain["reused"] == nil)
      for number in 0..<2 {
        let job = #"{"input": "in.jpg", "outputs": [], "placeholder": true, \#(reused)}"#
        let result = try await run(job, daemon, id: "placeholder\(number)")
        #expect(result["placeholder"]?["picture"]?.string?.hasPrefix("data:image/webp;base64,") == true)
        #expect((result["reused"] == true) == (reuse && number == 1))
      }
      #expect(try Directory(path: root.paths.payload).entries() == ["in.jpg"])
    }

    @Test("Doubled braces in a path without placeholders are one brace in the file's name, as the result says")
    func braces() async throws {
      try root.write(try await TestPicture.jpeg(), to: root.paths.payload + "/in.jpg")
      let daemon = try await DaemonProcess.ready(root)
      let result = try await run(#"{"input": "in.jpg", "outputs": [{"path": "a{{b}}.png", "width": 8}]}"#, daemon)
      #expect(result["outputs"]?.array?.first?["path"]?.string == root.paths.payload + "/a{b}.png")
      #expect(try await header(root.paths.payload + "/a{b}.png").contains("\nwidth: 8\n"))
      #expect(try Directory(path: root.paths.payload).entries().sorted() == ["a{b}.png", "in.jpg"])
    }

    @Test(
      "One file by two spellings is refused, and what was there stays",
      arguments: [
        ("d.png", "./d.png"), ("d.png", "link/d.png"), ("{name}.png", "link/{name}.png"), ("{name}.png", "d.png"),
      ])
    func spellings(_ first: String, _ second: String) async throws {
      try root.write(try await TestPicture.jpeg(), to: root.paths.payload + "/d.jpg")
      try root.write(Data("old".utf8), to: root.paths.payload + "/d.png")
      try FileManager.default.createSymbolicLink(
        atPath: root.paths.payload + "/link", withDestinationPath: root.paths.payload)
      let daemon = try await DaemonProcess.ready(root)
      let job = #"""
        {"type": "image.encode", "id": "twice", "arguments": {"input": "d.jpg", "outputs": [
          {"path": "\#(first)", "width": 8}, {"path": "\#(second)", "width": 9}]}}
        """#
      try root.drop(job, as: "twice.json")
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try root.reason("twice.json").contains("outputs 1 and 2 are both called d.png"))
      #expect(try String(contentsOfFile: root.paths.payload + "/d.png", encoding: .utf8) == "old")
      #expect(try Directory(path: root.paths.payload).entries().sorted() == ["d.jpg", "d.png", "link"])
    }

    @Test("No output gets its name if another one can't have the name that its size gives it")
    func allOrNothing() async throws {
      try root.write(try await TestPicture.jpeg(), to: root.paths.payload + "/in.jpg")
      try FileManager.default.createDirectory(
        atPath: root.paths.payload + "/in-8.png", withIntermediateDirectories: false)
      let daemon = try await DaemonProcess.ready(root)
      let job = #"""
        {"type": "image.encode", "id": "half", "arguments": {"input": "in.jpg", "outputs": [
          {"path": "first.png", "width": 8}, {"path": "{name}-{width}.png", "width": 8}]}}
        """#
      try root.drop(job, as: "half.json")
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try root.reason("half.json").contains("something other than a file is there"))
      #expect(try Directory(path: root.paths.payload).entries().sorted() == ["in-8.png", "in.jpg"])
    }

    @Test("The same input with the same wishes is encoded once, whatever its name, and other wishes are not mixed up")
    func reuse() async throws {
      let picture = try await TestPicture.jpeg()
      for number in 0..<8 { try root.write(picture, to: root.paths.payload + "/in\(number).jpg") }
      try root.write(picture + Data([0]), to: root.paths.payload + "/other.jpg")
      var daemon = try await DaemonProcess.ready(root)
      let outputs = { (width: Int, name: String) in
        #""reuse": true, "placeholder": true, "outputs": [{"path": "\#(name).webp", "width": \#(width)},"#
          + #" {"path": "\#(name).png", "width": 9}]"#
      }
      let jobs = (0..<8).map {
        #"{"type": "image.encode", "id": "j\#($0)", "arguments": {"input": "in\#($0).jpg", \#(outputs(50, "out\($0)"))}}"#
      }
      // At the same time: those that come later wait for the first.
      try root.drop(#"{"jobs": [\#(jobs.joined(separator: ","))]}"#, as: "all.json")
      try await daemon.waitUntilSpoolIsEmpty()
      var reused = 0
      var results: [JSONValue] = []
      for number in 0..<8 {
        let result = try #require(try await daemon.get("/v1/jobs/j\(number)")["result"])
        if result["reused"] == true { reused += 1 }
        results.append(result)
        let file = try Data(contentsOf: URL(filePath: root.paths.payload + "/out\(number).webp"))
        #expect(try file == Data(contentsOf: URL(filePath: root.paths.payload + "/out0.webp")))
      }
      #expect(reused == 7)
      #expect(Set(results.map { $0["placeholder"]?.serialized() }).count == 1)
      #expect(Set(results.map { $0["outputs"]?.array?.first?["sha256"]?.string }).count == 1)
      #expect(try FileManager.default.contentsOfDirectory(atPath: root.paths.keptPictures).count == 3)
      let some = try await run("{\"input\": \"in0.jpg\", \(outputs(49, "x"))}", daemon, id: "x")
      #expect(some["reused"] == nil && some["outputs"]?.array?.map { $0["reused"] == true } == [false, true])
      #expect(some["placeholder"]?.serialized() == results[0]["placeholder"]?.serialized())
      #expect(try await header(root.paths.payload + "/x.webp").contains("\nwidth: 49\n"))
      #expect(
        try Data(contentsOf: URL(filePath: root.paths.payload + "/x.png"))
          == Data(contentsOf: URL(filePath: root.paths.payload + "/out0.png")))
      let stated = #""reuse": true, "outputs": [{"path": "s.webp", "width": 50, "quality": 80}]"#
      #expect(try await run("{\"input\": \"in0.jpg\", \(stated)}", daemon, id: "stated")["reused"] == true)
      let other = stated.replacing("80", with: "79")
      #expect(try await run("{\"input\": \"in0.jpg\", \(other)}", daemon, id: "other")["reused"] == nil)
      #expect(try await run("{\"input\": \"other.jpg\", \(outputs(50, "y"))}", daemon, id: "y")["reused"] == nil)
      // They outlive the daemon, but not damage.
      _ = try await daemon.stop()
      daemon = try await DaemonProcess.ready(root)
      #expect(try await run("{\"input\": \"in0.jpg\", \(outputs(50, "z"))}", daemon, id: "z")["reused"] == true)
      for folder in try FileManager.default.contentsOfDirectory(atPath: root.paths.keptPictures) {
        let picture = "\(root.paths.keptPictures)/\(folder)/0"
        if FileManager.default.fileExists(atPath: picture) { try Data().write(to: URL(filePath: picture)) }
      }
      let again = try await run("{\"input\": \"in0.jpg\", \(outputs(50, "again"))}", daemon, id: "again")
      #expect(again["reused"] == nil)
      let file = try Data(contentsOf: URL(filePath: root.paths.payload + "/again.webp"))
      #expect(try file == Data(contentsOf: URL(filePath: root.paths.payload + "/out0.webp")))
    }
  }
}
