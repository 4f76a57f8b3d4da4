import Foundation
import SystemSupport
import TestSupport
import Testing

@Suite("The model compiler")
struct ModelCompilerTests {
  struct Outcome {
    let exitCode: Int32
    let errors: String
  }

  private let directory: TemporaryDirectory
  let contents: URL
  private let bundle: URL
  private let output: URL

  init() throws {
    directory = try TemporaryDirectory()
    bundle = directory.url.appending(path: "Company.xcdatamodeld", directoryHint: .isDirectory)
    let version = bundle.appending(path: "Company.xcdatamodel", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: version, withIntermediateDirectories: true)
    contents = version.appending(path: "contents")
    output = directory.url.appending(path: "Company.swift")
  }

  func compile(_ xml: String, _ options: String...) async throws -> Outcome {
    try Data(xml.utf8).write(to: contents)
    return try await run([bundle.path, "--output", output.path] + options)
  }

  private func run(_ arguments: [String]) async throws -> Outcome {
    try await run(RepositoryPaths.executable("ModelCompiler"), arguments)
  }

  private func run(_ tool: URL, _ arguments: [String]) async throws -> Outcome {
    let log = directory.path("errors")
    try Data().write(to: URL(filePath: log))
    let handle = try #require(FileHandle(forWritingAtPath: log))
    let descriptor = handle.fileDescriptor
    let child = try ChildProcess.start(
      ChildLaunch(
        executable: tool.path, arguments: arguments,
        environment: ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin", "HOME": directory.path],
        descriptors: [1: descriptor, 2: descriptor]))
    let (termination, _) = try await child.termination(killingAt: .after(.seconds(60)))
    try handle.close()
    guard case .exited(let code) = termination.status else {
      return Outcome(exitCode: -1, errors: "\(termination.status)")
    }
    return Outcome(exitCode: code, errors: try String(contentsOfFile: log, encoding: .utf8))
  }

  func generated() throws -> String { try String(contentsOf: output, encoding: .utf8) }

  /// The lines of a class between its braces.
  func body(of name: String) throws -> String {
    let parts = try generated().components(separatedBy: "class \(name): ")
    try #require(parts.count == 2)
    return parts[1].components(separatedBy: "\n}\n")[0]
  }

  @Test("A small model becomes exactly this file")
  func smallModel() async throws {
    let outcome = try await compile(
      """
      <model>
        <entity name="Person" representedClassName="Company">
          <attribute name="firstName" optional="YES" attributeType="String"/>
          <attribute name="level" attributeType="Integer 16"/>
        </entity>
        <entity name="Plain"/>
      </model>
      """)
    #expect(outcome.errors == "")
    #expect(outcome.exitCode == 0)
    let fence = "#\"\"\""
    #expect(
      try generated() == """
        // Compiled from the model Company; changes belong there.

        import Foundation
        public import ObjectGraph

        /// The model `Company`, compiled in.
        public enum CompanyModel {
          /// The model with the classes below; resolved at the first use.
          public static let model: ManagedObjectModel = {
            do {
              return try ManagedObjectModel(
                xml: Data(xml.utf8), classes: classes, file: "Company.xcdatamodeld")
            } catch {
              // The same text was read when it was compiled.
              preconditionFailure("the compiled model can't be read: \\(error)")
            }
          }()

          private static var classes: [String: AnyClass] {
            [
              "Company": Company.self
            ]
          }

          private static let xml = \(fence)
            <model>
              <entity name="Person" representedClassName="Company">
                <attribute name="firstName" optional="YES" attributeType="String"/>
                <attribute name="level" attributeType="Integer 16"/>
              </entity>
              <entity name="Plain"/>
            </model>
            \"\"\"#
        }

        /// An object of the entity `Person`.
        open class Company: ManagedObject {
          open override class var entityName: String { "Person" }
          open override class var isGenerated: Bool { self == Company.self }

          public final var firstName: String? {
            get { self[text: 0] }
            set { self[text: 0] = newValue }
          }

          public final var level: Int16 {
            get { Int16(truncatingIfNeeded: self[integer: 1]) }
            set { self[integer: 1] = Int64(newValue) }
          }

          // A key path never changes; `AnyKeyPath` just isn't marked as Sendable.
          nonisolated(unsafe) private static let table: [AnyKeyPath: String] = [
            \\Company.firstName: "firstName",
            \\Company.level: "level",
          ]

          open override class var propertyNamesByKeyPath: [AnyKeyPath: String] { table }
        }

        """)
  }

  @Test("A subclass has the properties of its own entity and of entities between that have no class")
  func inheritance() async throws {
    let outcome = try await compile(
      """
      <model>
        <entity name="C" representedClassName="C" parentEntity="B"><attribute name="z" attributeType="Double"/></entity>
        <entity name="B" parentEntity="A"><attribute name="y" attributeType="Boolean"/></entity>
        <entity name="A" representedClassName=".A"><attribute name="x" attributeType="String"/></entity>
      </model>
      """)
    #expect(outcome.errors == "")
    let text = try body(of: "C")
    #expect(text.hasPrefix("A {\n"))
    #expect(!text.contains("final var x:"))
    #expect(text.contains("final var y: Bool {\n    get { self[boolean: 1] }"))
    #expect(text.contains("final var z: Double {\n    get { self[real: 2] }"))
    #expect(text.contains("    \\C.x: \"x\",\n    \\C.y: \"y\",\n    \\C.z: \"z\",\n"))
    #expect(!(try generated()).contains("class B"))
  }

  @Test("Relationships, keywords, documentation and names of library types are spelled as Swift needs them")
  func spelling() async throws {
    let outcome = try await compile(
      """
      <model>
        <entity name="Set" representedClassName="Set">
          <attribute name="class" optional="YES" attributeType="Binary"><userInfo>
            <entry key="documentation" value="First.&#10;&#10;Second."/></userInfo></attribute>
          <attribute name="mail" attributeType="String" defaultValueString="&quot;\\(x)&quot;&#10;"/>
          <relationship name="parts" toMany="YES" destinationEntity="Data" inverseName="whole"/>
          <relationship name="steps" toMany="YES" ordered="YES" destinationEntity="Data" inverseName="step"/>
        </entity>
        <entity name="Data" representedClassName="Data">
          <relationship name="whole" destinationEntity="Set" inverseName="parts"/>
          <relationship name="step" destinationEntity="Set" inverseName="steps"/>
        </entity>
      </model>
      """, "--module-access", "internal")
    #expect(outcome.errors == "")
    let text = try body(of: "Set")
    #expect(text.contains("  /// First.\n  ///\n  /// Second.\n  final var `class`: Foundation.Data? {"))
    #expect(text.contains("final var classBlob: Blob? {"))
    #expect(text.contains(#"get { self[text: 1] ?? "\"\\(x)\"\n" }"#))
    #expect(text.contains("final var parts: Swift.Set<Data> {\n    get { self[toMany: 2, as: Data.self] }"))
    #expect(text.contains("func addToParts(_ object: Data) {\n    add(object, toMany: 2)\n  }"))
    #expect(text.contains("func removeFromParts(_ object: Data) {\n    remove(object, fromMany: 2)\n  }"))
    #expect(text.contains("final var steps: [Data] {\n    get { self[ordered: 3, as: Data.self] }"))
    #expect(!(try generated()).contains("public "))
    #expect(!(try generated()).contains("open "))
  }

  @Test("Derived attributes and fetched properties can be read only, and a transformable has the type it names")
  func specialProperties() async throws {
    let outcome = try await compile(
      """
      <model>
        <entity name="E" representedClassName="E">
          <attribute name="a" optional="YES" attributeType="String" derived="YES" derivationExpression="uppercase:(b)"/>
          <attribute name="b" optional="YES" attributeType="String"/>
          <attribute name="c" optional="YES" attributeType="Transformable" customClassName="[String: Color]"/>
          <attribute name="d" optional="YES" attributeType="Transformable" customClassName="NSArray"/>
          <fetchedProperty name="f"><fetchRequest entity="E" predicateString="b == $FETCH_SOURCE.b"/></fetchedProperty>
        </entity>
      </model>
      """)
    #expect(outcome.errors == "")
    let text = try body(of: "E")
    #expect(text.contains("final var a: String? {\n    self[text: 0]\n  }"))
    #expect(
      text.contains("final var c: [String: Color]? {\n    get { self[transformable: 2, as: [String: Color].self] }"))
    #expect(text.contains("final var d: Data? {\n    get { self[data: 3] }"))
    #expect(text.contains("final var f: [E] {\n    self[fetched: \"f\", as: E.self]\n  }"))
  }

  @Test(
    "The fixtures' classes are formatted as the formatter would, the same each time",
    arguments: [
      "People", "Gallery", "Zoo", "Shop", "Diary",
    ])
  func formatting(name: String) async throws {
    let fixture = RepositoryPaths.root.appending(path: "Tests/ObjectGraphTests/Fixtures/\(name).xcdatamodeld")
    try #require(try await run([fixture.path, "--output", output.path]).exitCode == 0)
    let first = try generated()
    let dated = try FileManager.default.attributesOfItem(atPath: output.path)
    try #require(try await run([fixture.path, "--output", output.path]).exitCode == 0)
    #expect(try generated() == first)
    let again = try FileManager.default.attributesOfItem(atPath: output.path)
    #expect(dated[.modificationDate] as? Date == again[.modificationDate] as? Date)
    #expect(dated[.systemFileNumber] as? UInt64 == again[.systemFileNumber] as? UInt64)

    let configuration = RepositoryPaths.root.appending(path: ".swift-format").path
    let format = try await run(
      URL(filePath: "/usr/bin/env"), ["swift", "format", "--in-place", "--configuration", configuration, output.path])
    #expect(format.exitCode == 0, "\(format.errors)")
    #expect(try generated() == first)
  }

  @Test(
    "A fault in the model is told as path:line: error: and ends with 65",
    arguments: [
      ("<attribute name=\"a\" attributeType=\"Text\"/>", "a: the attribute type \"Text\" does not exist"),
      ("<relationship name=\"a\" destinationEntity=\"X\"/>", "a: the destination entity \"X\" does not exist"),
      (
        "<attribute name=\"a\" attributeType=\"Date\"><userInfo><entry key=\"bobbin.swiftName\" value=\"isFault\"/>"
          + "</userInfo></attribute>", "a: \"isFault\" (bobbin.swiftName) can't name a property in Swift"
      ),
      (
        "<attribute name=\"a\" attributeType=\"Date\"><userInfo><entry key=\"bobbin.swiftName\" value=\"b\"/>"
          + "</userInfo></attribute><attribute name=\"c\" attributeType=\"Date\"><userInfo>"
          + "<entry key=\"bobbin.swiftName\" value=\"b\"/></userInfo></attribute>",
        "c: \"b\" (bobbin.swiftName) is the name of another property in Swift"
      ),
    ])
  func faults(element: String, message: String) async throws {
    let outcome = try await compile(
      "<model>\n<entity name=\"E\" representedClassName=\"E\">\n\(element)\n</entity></model>")
    #expect(outcome.exitCode == 65)
    #expect(outcome.errors.hasPrefix("\(contents.path):3: error: E.\(message)"), "\(outcome.errors)")
    #expect(!FileManager.default.fileExists(atPath: output.path))
  }

  @Test(
    "A class name that Swift can't have, or has twice, becomes another one with a warning",
    arguments: [("9", "_9"), ("a b", "a_b"), ("Self", "Self_"), ("Foundation", "Foundation_"), ("F", "E")])
  func classNames(name: String, swiftName: String) async throws {
    let outcome = try await compile(
      "<model><entity name=\"F\" representedClassName=\"F\"/>\n<entity name=\"E\" representedClassName=\"\(name)\"/></model>"
    )
    #expect(outcome.exitCode == 0)
    #expect(outcome.errors.hasPrefix("\(contents.path):2: warning: E: "), "\(outcome.errors)")
    let key = name == "F" ? "E.F" : name
    #expect(try generated().contains("      \"\(key)\": \(swiftName).self"))
    #expect(try generated().contains("open class \(swiftName): ManagedObject {"))
  }

  @Test(
    "A transformable has the type that the model names, if Swift can have it here",
    arguments: [
      (".Dataset", "Dataset"), ("[Int64]", "[Int64]"), ("Some.Nested<Int>", "Some.Nested<Int>"), (".", "Data"),
      (".NSArray", "Data"), ("[NSNumber]", "Data"), ("UIColor", "Data"), ("[String: Any]", "Data"),
      ("CLLocation", "Data"),
    ])
  func transformables(named: String, type: String) async throws {
    let outcome = try await compile(
      """
      <model><entity name="E" representedClassName="E"><attribute name="a" optional="YES" attributeType="Transformable"
      customClassName="\(named.replacing("<", with: "&lt;"))"/></entity></model>
      """)
    #expect(outcome.errors == "" && outcome.exitCode == 0)
    #expect(try body(of: "E").contains("final var a: \(type)? {"))
  }

  @Test("What can't be in Swift as the model has it is a warning with its line")
  func warnings() async throws {
    let outcome = try await compile(
      """
      <model><entity name="E" representedClassName="E">
      <attribute name="a" optional="YES" attributeType="Transformable" customClassName="A; B"/>
      <attribute name="context" optional="YES" attributeType="String"/>
      <attribute name="n" attributeType="Integer 16" defaultValueString="YES"/></entity></model>
      """)
    #expect(outcome.exitCode == 0)
    #expect(
      outcome.errors == """
        \(contents.path):4: warning: E.n: defaultValueString "YES" is no Integer 16; it counts as 0, as in Core Data
        \(contents.path):3: warning: E.context: every managed object has a property "context", so this one is \
        "context_" in Swift; bobbin.swiftName in its user info gives it another name
        \(contents.path):2: warning: E.a: "A; B" can't be the type of a transformable in Swift, so it is Data; \
        bobbin.type in its user info names another type

        """)
    let text = try body(of: "E")
    #expect(text.contains("final var context_: String? {") && text.contains("final var a: Data? {"))
    #expect(text.contains("\\E.context_: \"context\","))
  }

  @Test("What is generated for names of all kinds compiles")
  func compiles() async throws {
    let outcome = try await compile(
      """
      <model>
        <entity name="AnyKeyPath" representedClassName="AnyKeyPath"><attribute name="context" attributeType="String"
          defaultValueString="x"/><attribute name="context_" attributeType="UUID"/>
          <attribute name="_" optional="YES" attributeType="Date"/><attribute name="_a" attributeType="Binary"/>
          <attribute name="_aBlob" optional="YES" attributeType="Date"/>
          <attribute name="description" attributeType="UUID"
            defaultValueString="6F9619FF-8B86-D011-B42D-00CF4FC964FF"/>
          <attribute name="URL" attributeType="URI" defaultValueString="http://x"/>
          <attribute name="Date" attributeType="Date" defaultDateTimeInterval="1"/>
          <attribute name="Int64" attributeType="Integer 64"/><attribute name="Int16" attributeType="Integer 16"/>
          <attribute name="jid" optional="YES" transient="YES"/>
          <attribute name="typed" optional="YES" transient="YES"><userInfo>
            <entry key="bobbin.type" value="[String: Int]"/></userInfo></attribute>
          <attribute name="home" optional="YES" compositeName="Address"/>
          <relationship name="objectID" optional="YES" toMany="YES" ordered="YES" destinationEntity="AnyClass"/>
          <relationship name="tags" optional="YES" toMany="YES" destinationEntity="AnyClass"/>
          <relationship name="Tags" optional="YES" toMany="YES" destinationEntity="AnyClass"/>
          <relationship name="ObjectID" optional="YES" toMany="YES" destinationEntity="Sendable"/>
          <fetchedProperty name="entity"><fetchRequest entity="Sendable"/></fetchedProperty>
        </entity>
        <entity name="AnyClass" representedClassName=".AnyClass" parentEntity="AnyKeyPath">
          <attribute name="context__" attributeType="Float"/><attribute name="isFault" attributeType="Boolean"/></entity>
        <entity name="Sendable" representedClassName="Sendable"/>
        <entity name="Swift" representedClassName="Swift"/><entity name="Foundation" representedClassName="Foundation"/>
        <entity name="Type" representedClassName="Type"/><entity name="_E" representedClassName="Type"/>
        <entity name="Plain" representedClassName="Type"><userInfo>
          <entry key="bobbin.swiftName" value="Renamed"/></userInfo></entity>
        <composite name="Address"><attribute name="city" attributeType="String"/></composite>
      </model>
      """)
    #expect(outcome.exitCode == 0, "\(outcome.errors)")
    let errors = try await Compiler.errors(
      in: ["Company": try generated().replacing("public import", with: "import")], common: "")
    #expect(errors.isEmpty, "\(errors)")
    for name in ["Swift_", "Foundation_", "Type_", "_E", "Renamed"] {
      #expect(try generated().contains("open class \(name): ManagedObject {"))
    }
  }

  @Test("A wrong command line ends with 64, a bundle that can't be read with 65, an output that can't be with 73")
  func commandLine() async throws {
    for arguments in [[], ["a", "b", "--output", "c"], ["a", "--output"], ["a", "--nonsense"], ["a"]] {
      #expect(try await run(arguments).exitCode == 64)
    }
    #expect(try await run(["a", "--output", "c", "--module-access", "secret"]).exitCode == 64)
    #expect(try await run([directory.path("none.xcdatamodeld"), "--output", output.path]).exitCode == 65)
    try Data("<model/>".utf8).write(to: contents)
    #expect(try await run([bundle.path, "--output", directory.path("no/such/folder.swift")]).exitCode == 73)
  }
}
