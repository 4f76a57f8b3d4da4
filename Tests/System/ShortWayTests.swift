import DaemonTesting
import Foundation
import Glibc
import JSONText
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("Short ways in")
  struct ShortWays {
    /// A folder that somebody works in, with a picture.
    private let work: TemporaryDirectory

    init() async throws {
      work = try TemporaryDirectory()
      try await TestPicture.jpeg().write(to: work.url.appending(path: "a.jpg"))
    }

    /// A root whose daemon is told of it by BOBBIN_ROOT.
    private func daemon(_ root: DaemonRoot) async throws -> DaemonProcess {
      let daemon = try DaemonProcess(root, arguments: [], environment: ["BOBBIN_ROOT": root.directory.path])
      try await daemon.wait { $0.notifications.contains("READY=1") }
      return daemon
    }

    /// Runs bobbinctl in the folder, with BOBBIN_ROOT.
    private func tool(_ arguments: String..., at root: DaemonRoot, input: String = "") async throws -> Tool {
      try await tool(arguments, at: root, input: input)
    }

    private func tool(_ arguments: [String], at root: DaemonRoot, input: String = "") async throws -> Tool {
      let program = try RepositoryPaths.executable("bobbinctl").path(percentEncoded: false)
      return try await Tool.run(
        "/bin/sh", ["-c", #"cd "$1" && shift && exec "$@""#, "sh", work.path, program] + arguments, input: input,
        environment: ["BOBBIN_ROOT": root.directory.path])
    }

    private func write(_ text: String, _ name: String) throws {
      try Data(text.utf8).write(to: work.url.appending(path: name))
    }

    private func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: work.path(name)) }

    @Test("Pictures are encoded by their names, one or many, and what can't work is told before there is a job")
    func encode() async throws {
      let root = try DaemonRoot()
      let daemon = try await daemon(root)
      let one = try await tool("encode", "a.jpg", "a.webp", "--width", "40", "--wait=1min", at: root)
      #expect(one.code == 0 && one.output.hasPrefix("completed  image.encode-"), "\(one.errors)")
      #expect(exists("a.webp"))
      try FileManager.default.copyItem(atPath: work.path("a.jpg"), toPath: work.path("b {1}.jpg"))
      try FileManager.default.createDirectory(atPath: work.path("out"), withIntermediateDirectories: false)
      let many = try await tool("encode", "*.jpg", "out", "--to=webp", "--width=40", "--batch=all", "--wait", at: root)
      #expect(many.code == 0 && exists("out/a.webp") && exists("out/b {1}.webp"), "\(many.errors)")
      let batch = try await tool("batch", "all", at: root)
      #expect(batch.output.contains("2 completed"), "\(batch.output)")
      let named = try await tool("encode", "b {1}.jpg", "--output-dir", "out/", "--width=40", "--wait", at: root)
      #expect(named.code == 0 && exists("out/b {1}.jpg"), "\(named.errors)")
      // Mistakes of any kind leave no job behind.
      let known = try await daemon.get("/v1/jobs")["count"]?.integer
      try write("", "locked")
      let mistakes: [([String], Int32, String)] = [
        (["a.jpg", "x.webp", "--quality=900"], 65, #""arguments.outputs[0].quality": must lie between 1 and 100"#),
        (["a.jpg", "nowhere/x.webp"], 66, "there is no folder \(work.path)/nowhere"),
        (["c.jpg", "x.webp"], 66, "c.jpg: there is no such file"),
        (["*.png", "x.webp"], 66, "*.png: no file has such a name"),
        (["*.jpg", "x.webp"], 64, "would both become \(work.path)/x.webp"),
        (["/proc/self/stat", "x.webp"], 66, "jobs can't read /proc/self/stat: "),
        (["a.jpg", "\(root.paths.state)/../state/x/y"], 66, "there is no folder"),
      ]
      for (arguments, code, text) in mistakes {
        let run = try await tool(["encode"] + arguments, at: root)
        #expect(run.code == code && run.errors.contains(text), "\(arguments): \(run.code) \(run.errors)")
      }
      #expect(try await daemon.get("/v1/jobs")["count"]?.integer == known)
      let trial = try await tool("encode", "a.jpg", "{name}.avif", "--dry-run", "--queue=q", at: root)
      let job = try JSONValue(parsing: trial.output.utf8)
      #expect(job["arguments"]?["input"]?.string == work.path("a.jpg") && job["queue"] == "q")
      #expect(job["arguments"]?["outputs"]?.array?.first?["path"]?.string == work.path("{name}.avif"))
      _ = try await daemon.stop()
    }

    private static let people = TestModel.model(
      """
      <entity name="Person" representedClassName="Person" syncable="YES">
        <attribute name="id" optional="YES" attributeType="Integer 64" usesScalarValueType="YES"/>
        <attribute name="name" optional="YES" attributeType="String"/>
        <uniquenessConstraints><uniquenessConstraint><constraint value="id"/></uniquenessConstraint></uniquenessConstraints>
      </entity>
      """)

    @Test("Files are imported by their names in their order, and standard input as well")
    func imports() async throws {
      let root = try DaemonRoot(model: Self.people)
      let daemon = try await daemon(root)
      let entities = try await daemon.get("/v1/entities")["entities"]?.array ?? []
      #expect(entities.map { $0["name"] } == ["Person"])
      #expect(entities.first?["attributes"]?.array?.map { $0["name"]?.string } == ["id", "name"])
      try write("id,name\n1,Ada\n2,Bob\n", "1.csv")
      try write("id,name\n2,Ben\n3,Cy\n", "2.csv")
      let files = try await tool("import", "[12].csv", "--entity", "Person", "--key=id", "--wait", at: root)
      #expect(files.code == 0, "\(files.errors)")
      #expect(try await root.sql("SELECT id, name FROM Person ORDER BY id") == "1|Ada\n2|Ben\n3|Cy")
      let input = try await tool(
        "import", "-", "--entity=Person", "--separator", "tab", "--header=no", "--column", "x=id", "--wait", at: root,
        input: "4\tDee\n")
      // A job that failed may be retried: its input is kept.
      #expect(input.code == 1, "\(input.errors)")
      let refused = try await tool("import", "-", "--entity=Person", "--key=no", "--wait", at: root, input: "id\n")
      #expect(refused.code == 65 && refused.errors.contains(#""arguments.key""#), "\(refused.errors)")
      let good = try await tool("import", "-", "--entity=Person", "--wait", at: root, input: "id,name\n4,Dee\n")
      #expect(good.code == 0, "\(good.errors)")
      #expect(try await root.sql("SELECT name FROM Person WHERE id = 4") == "Dee")
      let left = try DaemonRoot.entries(root.paths.payload).map(\.description)
      #expect(left.count == 1 && left.allSatisfy { input.errors.contains($0) }, "\(left)")
      let unknown = try await tool("import", "1.csv", "--entity=Persn", at: root)
      #expect(unknown.code == 65 && unknown.errors.contains(#"do you mean "Person"?"#))
      let missing = try await tool("import", "1.csv", "--entity=Ort", "--encoding=utf-8", at: root)
      #expect(
        missing.code == 65
          && missing.errors.contains(
            #"there is no entity "Ort" to import into; there are Person"#)
          && missing.errors.contains("\"bobbinctl model infer --entity=Ort --encoding=utf-8 \(work.path)/1.csv\"")
          && missing.errors.contains("copy it into \(root.paths.models)"), "\(missing.errors)")
      let mirror = try await tool("import", "1.csv", "2.csv", "--entity=Person", "--mode=mirror", at: root)
      #expect(mirror.code == 64 && mirror.errors.contains("each file would delete what those before it"))
      _ = try await daemon.stop()
    }

    @Test("Relative paths of a submitted file start at the working directory, and those of a dropped one at payload/")
    func relative() async throws {
      let root = try DaemonRoot()
      try root.write(
        "[Handler]\nType=cat\nExecStart=/bin/true\nRequiredArguments=file:path text:string\n",
        to: root.paths.handlers + "/cat.conf")
      let daemon = try await daemon(root)
      try write(
        """
        {"jobs": [
          // Named in the way of people.
          {type: "image.encode", id: "here", arguments: {
            input: "./a.jpg", outputs: [{path: "../\(work.url.lastPathComponent)/small.webp", width: 20}]}},
          {type: "cat", id: "cat", arguments: {file: "note", text: "note"}},
        ]}
        """, "jobs.json")
      try write("what is noted\n", "note")
      let submitted = try await tool("submit", "--wait", "jobs.json", at: root)
      #expect(submitted.code == 0, "\(submitted.output) \(submitted.errors)")
      #expect(exists("small.webp"))
      let arguments = try await daemon.get("/v1/jobs/cat")["arguments"]
      #expect(arguments == ["file": .string(work.path("note")), "text": "note"])
      let input = try await daemon.get("/v1/jobs/here")["arguments"]?["input"]?.string
      #expect(input == work.path("a.jpg"))
      // The lines of a mistake are those of the file.
      try write("{type: 'image.encode', arguments: {\n  input: 'a.jpg',\n  outputs: [{pth: 'b.webp'}]}}", "wrong.json")
      let wrong = try await tool("submit", "wrong.json", at: root)
      #expect(wrong.code == 65 && wrong.errors.contains("wrong.json: line 3: \"arguments.outputs[0].pth\""))
      let folder = try await daemon.request("POST", "/v1/jobs", query: ["directory": "here"], body: "{}")
      #expect(folder.status == 400)
      try FileManager.default.copyItem(atPath: work.path("a.jpg"), toPath: root.paths.payload + "/p.jpg")
      try root.drop(
        #"{"type": "image.encode", "arguments": {"input": "p.jpg", "outputs": [{"path": "p.webp"}]}}"#, as: "p.json")
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(FileManager.default.fileExists(atPath: root.paths.payload + "/p.webp"))
      _ = try await daemon.stop()
    }

    @Test("A drain waits for the jobs that run, starts no others, and holds until it is resumed")
    func drain() async throws {
      let root = try DaemonRoot(DaemonRoot.quickFlushes + "[Workers]\nCount=1\n")
      let gate = work.path("gate")
      mkfifo(gate, 0o600)
      try write("read line < \(gate)\n", "gated.sh")
      try root.write(
        "[Handler]\nType=gated\nExecStart=/bin/sh \(work.path("gated.sh"))\n", to: root.paths.handlers + "/gated.conf")
      let daemon = try await daemon(root)
      _ = try await daemon.request(
        "POST", "/v1/jobs", body: #"{"jobs": [{"type": "gated", "id": "a"}, {"type": "noop", "id": "b"}]}"#)
      // Opens when the job's program has opened the other end.
      let writer = FileDescriptor(owning: try await onThread { try FileDescriptor.open(gate, .writing).relinquish() })
      let early = try await tool("drain", "--wait=1s", at: root)
      #expect(early.code == 75 && early.errors.contains("1 job still runs"), "\(early.errors)")
      async let drained = tool("drain", "--wait=1min", at: root)
      try writer.writeAll(Data("go\n".utf8))
      let run = try await drained
      #expect(run.code == 0 && run.errors.contains("\"bobbinctl resume\" starts jobs again"), "\(run.errors)")
      let (a, b) = (try await daemon.get("/v1/jobs/a"), try await daemon.get("/v1/jobs/b"))
      #expect(a["state"] == "completed" && a["durable"] == true && b["state"] == "available")
      #expect(try await tool("resume", at: root).code == 0)
      #expect(try await daemon.submit(#"{"type": "noop", "id": "b"}"#).first?["state"] == "completed")
      _ = try await daemon.stop()
    }
  }
}
