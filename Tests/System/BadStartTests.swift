import DaemonTesting
import Foundation
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("A daemon that can't do its work says why and does not start")
  struct BadStarts {
    /// A model file that is refused; PATH in the message stands for its path.
    struct BadModel: Sendable, CustomTestStringConvertible {
      let testDescription: String
      let text: String
      let message: String

      init(_ description: String, _ text: String, _ message: String) {
        testDescription = description
        self.text = text
        self.message = message
      }
    }

    static let models: [BadModel] = [
      BadModel("not XML", "{\"entities\": []}\n", #"PATH:1: not well-formed XML, or it ends early (libxml2 error 4)"#),
      BadModel(
        "truncated", String(TestModel.text.prefix(180)),
        #"PATH:3: not well-formed XML, or it ends early (libxml2 error 5)"#),
      BadModel(
        "without a destination entity",
        TestModel.model(
          """
          <entity name="Book">
            <relationship name="author" optional="YES" maxCount="1" destinationEntity="Author"/>
          </entity>
          """), #"PATH:4: Book.author: the destination entity "Author" does not exist"#),
      BadModel(
        "of unknown attribute type",
        TestModel.model("<entity name=\"Book\">\n<attribute name=\"title\" attributeType=\"Text\"/>\n</entity>"),
        #"PATH:4: Book.title: the attribute type "Text" does not exist; there are Integer 16, Integer 32, Integer 64, "#
          + "Decimal, Double, Float, String, Boolean, Date, Binary, UUID, URI, Transformable, Undefined"),
      BadModel(
        "with an entity of the daemon", TestModel.model("<entity name=\"Job\">\n</entity>"),
        #"FOLDER: Job: an entity of this name is in bobbin's own model already; rename one of them, or take one model "#
          + "out"),
    ]

    @Test("A model that can't be read is refused with 78, naming file, line and entity", arguments: models)
    func model(model: BadModel) async throws {
      let root = try DaemonRoot(model: model.text)
      let message = model.message.replacing("PATH", with: "FOLDER/contents")
        .replacing("FOLDER", with: root.paths.models + "/Test.xcdatamodel")
      try root.drop(#"{"type": "noop"}"#, as: "job.json")
      let check = try await Tool.run("bobbind", ["--root", root.directory.path, "--check-config"])
      #expect(check.code == 78)
      #expect(check.errors == "bobbind: \(message)\n")
      let start = try await Tool.run("bobbind", ["--root", root.directory.path])
      #expect(start.code == 78)
      #expect(start.errors == "bobbind: \(message)\n")
      let names = try root.newFiles
      #expect(names == ["job.json"])
      #expect(!FileManager.default.fileExists(atPath: root.paths.store))
    }

    @Test("A model that bears a warning is in order, and --check-config tells the warning with its line")
    func oddModel() async throws {
      let root = try DaemonRoot(
        model: TestModel.model(
          "<entity name=\"Book\">\n<attribute name=\"pages\" attributeType=\"Integer 16\" defaultValueString=\"NO\"/>"
            + "</entity>"))
      let check = try await Tool.run("bobbind", ["--root", root.directory.path, "--check-config"])
      #expect(check.code == 0)
      #expect(check.output.contains("the configuration is in order"))
      #expect(
        check.errors.contains(
          "Test.xcdatamodel/contents:4: Book.pages: defaultValueString \"NO\" is no Integer 16; it counts as 0"))
    }

    @Test(
      "A group that the host does not have and a schedule that is over are in order, and --check-config tells of both")
    func idleSettings() async throws {
      let root = try DaemonRoot("[Status]\nControlGroup=no-such-group\n")
      try root.write(Data(#"{"type": "noop"}"#.utf8), to: root.paths.schedules + "/job.json")
      let schedule = "[Schedule]\nOnCalendar=2020-02-01 UTC\nJob=job.json\n"
      try root.write(Data(schedule.utf8), to: root.paths.schedules + "/over.conf")
      let check = try await Tool.run("bobbind", ["--root", root.directory.path, "--check-config"])
      #expect(check.code == 0)
      #expect(
        check.errors.contains("[Status] ControlGroup names the group \"no-such-group\", which this host does not have"))
      #expect(
        check.errors.contains(
          "the schedule \"over\" never fires any more: OnCalendar=2020-02-01 00:00:00 UTC has no moment to come"))
    }

    @Test("A preset that contradicts itself is told when the configuration is read, and 78 returned")
    func preset() async throws {
      let root = try DaemonRoot("[Log]\nLevel=info\n[ImagePreset card]\nFormat=png\nQuality=80\n")
      let dropIn = root.paths.configurationDropIns + "/50.conf"
      try root.write(Data("\n[ImagePreset bad]\nFormat=jpeg\nLossless=yes\n".utf8), to: dropIn)
      for arguments in [["--check-config"], []] {
        let run = try await Tool.run("bobbind", ["--root", root.directory.path] + arguments)
        #expect(run.code == 78)
        #expect(
          run.errors.contains("\(root.paths.configurationFile):3: [ImagePreset card]: quality has no meaning for PNG"))
        #expect(run.errors.contains("\(dropIn):2: [ImagePreset bad]: JPEG is never lossless"))
      }
    }

    @Test("Every mistake of a configuration is told with file, line and key, and 78 returned")
    func configuration() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=fast\n[Workers]\nCuont=3\n")
      for arguments in [["--check-config"], []] {
        let run = try await Tool.run("bobbind", ["--root", root.directory.path] + arguments)
        #expect(run.code == 78)
        #expect(run.errors.contains("\(root.paths.configurationFile):2"))
        #expect(run.errors.contains("FlushIntervalSec"))
        #expect(run.errors.contains("\(root.paths.configurationFile):4"))
        #expect(run.errors.contains("did you mean Count?"))
      }
    }

    @Test("A store that is not SQLite is refused with 78 and left as it is")
    func foreignStore() async throws {
      let root = try DaemonRoot()
      let content = Data(String(repeating: "this is no database\n", count: 1000).utf8)
      try root.write(content, to: root.paths.store)
      try root.drop(#"{"type": "noop"}"#, as: "job.json")
      let run = try await Tool.run("bobbind", ["--root", root.directory.path])
      #expect(run.code == 78)
      #expect(run.errors == "bobbind: \(root.paths.store): the file is no store\n")
      let kept = try Data(contentsOf: URL(filePath: root.paths.store))
      #expect(kept == content)
      let names = try root.newFiles
      #expect(names == ["job.json"])
    }

    @Test("A second daemon on the same root is refused with 69, naming the first")
    func second() async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      let run = try await Tool.run("bobbind", ["--root", root.directory.path])
      #expect(run.code == 69)
      #expect(run.errors.contains(String(daemon.child.processID)))
      let jobs = try await daemon.submit(#"{"type": "noop"}"#)
      #expect(jobs.first?["state"]?.string == "completed")
    }

    @Test("A wrong argument is answered with 64")
    func usage() async throws {
      let run = try await Tool.run("bobbind", ["--rot", "/tmp"])
      #expect(run.code == 64)
      #expect(run.errors == "bobbind: there is no option --rot; do you mean --root? (see bobbind --help)\n")
    }

    @Test("Of a path that is given twice the last one counts, so that a drop-in can append to a unit's arguments")
    func repeatedOption() async throws {
      let root = try DaemonRoot()
      let run = try await Tool.run(
        "bobbind", ["--root", "/nonexistent", "--root", root.directory.path, "--check-config"])
      #expect(run.code == 0, "\(run.output)\(run.errors)")
    }
  }
}
