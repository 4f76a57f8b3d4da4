import DaemonTesting
import Foundation
import TestSupport
import Testing

extension SystemTests {
  @Suite("A model that changes under the daemon's store")
  struct ModelChanges {
    private static func model(_ attributes: String, name: String = "Reading") -> String {
      TestModel.model("<entity name=\"\(name)\">\n\(attributes)\n</entity>")
    }

    private static let first = model(
      """
      <attribute name="number" optional="YES" attributeType="Double"/>
      <attribute name="note" optional="YES" attributeType="String"/>
      """)

    /// A root with three stored objects, whose daemon has stopped.
    private static func filledRoot() async throws -> DaemonRoot {
      let root = try DaemonRoot(model: first)
      try root.payload("r.csv", "number,note\n1,7\n2.5,\"it\"\"s\"\n3,\n")
      let daemon = try await DaemonProcess.ready(root)
      let jobs = try await daemon.submit(
        #"{"type": "import", "arguments": {"input": "r.csv", "entity": "Reading"}}"#)
      #expect(jobs.first?["state"]?.string == "completed")
      #expect(try await daemon.stop() == .exited(code: 0))
      return root
    }

    private static func change(_ root: DaemonRoot, to model: String) throws {
      try root.write(model, to: root.paths.models + "/Test.xcdatamodel/contents")
    }

    private static func run(_ root: DaemonRoot, _ arguments: String...) async throws -> Tool {
      try await Tool.run("bobbind", ["--root", root.directory.path] + arguments)
    }

    @Test("--check-config tells what the next start would migrate, changes nothing, and the start does it")
    func announced() async throws {
      let root = try await Self.filledRoot()
      try Self.change(
        root,
        to: Self.model(
          """
          <attribute name="number" optional="YES" attributeType="Decimal"/>
          <attribute name="rank" attributeType="Integer 16" defaultValueString="4"/>
          """))
      try root.write("", to: root.paths.models + "/1to2.xcmappingmodel/xcmapping.xml")
      let before = try Data(contentsOf: URL(filePath: root.paths.store))
      let check = try await Self.run(root, "--check-config")
      #expect(check.code == 0)
      let expected = """
        the next start migrates \(root.paths.store):
          Reading.number, Double so far, becomes Decimal
          Reading.rank is new
          Reading.note goes
        \(root.paths.models)/1to2.xcmappingmodel is not read: mapping models need classes of Core Data's

        """
      #expect(check.output.hasSuffix(expected), "\(check.output)")
      #expect(try Data(contentsOf: URL(filePath: root.paths.store)) == before)
      let daemon = try await DaemonProcess.ready(root)
      #expect(
        try await root.sql("SELECT number, typeof(number), rank FROM Reading") == "1|text|4\n2.5|text|4\n3|text|4")
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("A migration that a slow disk takes its time for gets more time to start", .enabled(if: Tracer.canTrace))
    func slowMigration() async throws {
      let root = try await Self.filledRoot()
      try Self.change(
        root, to: Self.model(#"<attribute name="rank" attributeType="Integer 16" defaultValueString="4"/>"#))
      let slowly = Tracer.wrapper("trace=pwrite64", "inject=pwrite64:delay_exit=200000")
      let daemon = try await DaemonProcess.ready(root, wrapper: slowly, seconds: 300)
      let messages = daemon.notifications
      let extended = try #require(messages.firstIndex(of: "EXTEND_TIMEOUT_USEC=20000000"))
      #expect(extended < messages.firstIndex(of: "READY=1") ?? 0)
      #expect(messages.contains("STATUS=opening the store: reading or writing it"))
      try await daemon.kill()
      #expect(try await root.sql("SELECT DISTINCT rank FROM Reading") == "4")
    }

    @Test("What can't be inferred ends check and start with 78, and the lines of the message solve it")
    func refused() async throws {
      let root = try await Self.filledRoot()
      try Self.change(
        root,
        to: Self.model(
          """
          <attribute name="number" optional="YES" attributeType="Integer 32"/>
          <attribute name="note" optional="YES" attributeType="Integer 64"/>
          <attribute name="code" attributeType="String"/>
          """))
      let before = try Data(contentsOf: URL(filePath: root.paths.store))
      let check = try await Self.run(root, "--check-config")
      #expect(check.code == 78)
      let start = try await Self.run(root)
      #expect(start.code == 78)
      #expect(start.errors == check.errors)
      let lines = start.errors.split(separator: "\n").map { $0.replacing("bobbind: ", with: "") }
      #expect(lines.first?.contains("Reading.note was String and is Integer 64 now") == true, "\(start.errors)")
      #expect(start.errors.contains("the values of 1 object (key "))
      #expect(start.errors.split(separator: "Reading.note was").count == 2)
      #expect(start.errors.contains("Reading.code is new, not optional and without a default for 3 objects"))
      #expect(start.errors.contains("write into \(root.paths.models)/migration.conf what is to be done:"))
      #expect(try Data(contentsOf: URL(filePath: root.paths.store)) == before)

      let heading = try #require(lines.firstIndex { $0.hasPrefix("  from ") })
      let proposed = lines[heading...].joined(separator: "\n")
      #expect(proposed.contains("convert Reading.note   # or: drop Reading.note"), "\(proposed)")
      let file = root.paths.models + "/migration.conf"
      try root.write(
        proposed.replacing("convert Reading.note", with: "convert Reading.note else nothing") + "\nexport Reading\n",
        to: file)
      let daemon = try await DaemonProcess.ready(root)
      let rows = try await root.sql("SELECT number, note, code FROM Reading")
      #expect(rows == "1|7|unknown\n3||unknown\n3||unknown")
      #expect(try await daemon.stop() == .exited(code: 0))

      let exports = try FileManager.default.contentsOfDirectory(atPath: root.paths.state + "/exports")
      #expect(exports.count == 1 && exports[0].hasPrefix("Reading.") && exports[0].hasSuffix(".ndjson"))
      let export = try String(contentsOfFile: root.paths.state + "/exports/" + exports[0], encoding: .utf8)
      #expect(
        export.replacing(/"_key":[0-9]+/, with: "K") == #"""
          {K,"number":1.0,"note":"7"}
          {K,"number":2.5,"note":"it\"s"}
          {K,"number":3.0,"note":null}

          """#, "\(export)")
      // The lines are for the model of that time: they say nothing about what comes later.
      try Self.change(root, to: Self.first)
      let back = try await Self.run(root, "--check-config")
      #expect(back.code == 78 && back.errors.contains("Reading.note was Integer 64 and is String now"))
    }

    @Test("The lines that a comparison of two folders proposes solve what the start refuses")
    func compared() async throws {
      let root = try await Self.filledRoot()
      let old = root.directory.path("old")
      try FileManager.default.copyItem(atPath: root.paths.models, toPath: old)
      try Self.change(
        root,
        to: Self.model(
          """
          <attribute name="number" optional="YES" attributeType="Integer 32"/>
          <attribute name="note" optional="YES" attributeType="Integer 64"/>
          <attribute name="code" attributeType="String"/>
          """))
      #expect(try await Self.run(root, "--check-config").code == 78)
      let diff = try await Tool.run("bobbinctl", ["model", "diff", old, root.paths.models])
      #expect(diff.code == 1, "\(diff.errors)")
      let lines = diff.output.split(separator: "\n").drop { !$0.hasPrefix("  from ") }
      #expect(lines.count == 4, "\(diff.output)")
      try root.write(
        lines.joined(separator: "\n").replacing("convert Reading.note", with: "convert Reading.note else nothing"),
        to: root.paths.models + "/migration.conf")
      let check = try await Self.run(root, "--check-config")
      #expect(check.code == 0, "\(check.errors)")
    }

    @Test("Statements rename and drop entities and properties; what they drop of kept entities is gone")
    func statements() async throws {
      let root = try await Self.filledRoot()
      let renamed = Self.model(
        "<attribute name=\"amount\" optional=\"YES\" attributeType=\"Double\"/>", name: "Measurement")
      try Self.change(root, to: renamed)
      let check = try await Self.run(root, "--check-config")
      #expect(check.output.contains("  Reading is no more: its 3 objects stay in the file, unseen"), "\(check.output)")
      let file = root.paths.models + "/migration.conf"
      let hash = try await root.sql("SELECT substr(value, 1, 8) FROM _metadata WHERE key = 'model'")
      try root.write(
        "# June\nfrom \(hash)\nrename Reading to Measurement\nrename Reading.number to amount # so\n", to: file)
      var daemon = try await DaemonProcess.ready(root)
      #expect(try await root.sql("SELECT amount FROM Measurement") == "1.0\n2.5\n3.0")
      #expect(try await daemon.stop() == .exited(code: 0))

      let next = try await root.sql("SELECT substr(value, 1, 8) FROM _metadata WHERE key = 'model'")
      try root.write("from \(hash)\nrename Reading to Measurement\nfrom \(next)\ndrop Measurement\n", to: file)
      try Self.change(root, to: Self.first)
      daemon = try await DaemonProcess.ready(root)
      let tables = try await root.sql("SELECT name FROM sqlite_master WHERE name IN ('Reading', 'Measurement')")
      #expect(tables == "Reading")
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test(
      "A mistake in the file is told with its line, and nothing is migrated",
      arguments: [
        ("dorp Reading", "migration.conf:2: \"dorp Reading\" is no statement; there are from HASH"),
        ("drop Reading.nubmer", "migration.conf:2: the store's model has no property Reading.nubmer"),
        ("default Reading.rank many", "migration.conf:2: \"many\" is no Integer 16"),
        ("drop Raeding", "migration.conf:2: the store has no entity Raeding"),
      ])
    func mistakes(statement: String, message: String) async throws {
      let root = try await Self.filledRoot()
      try Self.change(
        root, to: Self.model("<attribute name=\"rank\" attributeType=\"Integer 16\" defaultValueString=\"1\"/>"))
      let hash = try await root.sql("SELECT substr(value, 1, 8) FROM _metadata WHERE key = 'model'")
      try root.write("from \(hash)\n\(statement)\n", to: root.paths.models + "/migration.conf")
      for arguments in [["--check-config"], []] {
        let run = try await Tool.run("bobbind", ["--root", root.directory.path] + arguments)
        #expect(run.code == 78 && run.errors.contains(message), "\(run.errors)")
      }
      #expect(try await root.sql("SELECT count(*) FROM Reading WHERE note = '7'") == "1")
    }
  }
}
