import Foundation
import JSONText
import TestSupport
import Testing

@Suite("bobbinctl model")
struct ModelTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  private func write(_ entities: String, to path: String) throws -> String {
    let url = URL(filePath: folder.path(path)).appending(path: "contents")
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data("<model>\n\(entities)\n</model>\n".utf8).write(to: url)
    return folder.path(path)
  }

  private func run(_ arguments: String...) async throws -> TestDaemon.Run {
    try await TestDaemon.run(["model"] + arguments)
  }

  private static let first = """
    <entity name="Order">
      <attribute name="note" optional="YES" attributeType="String"/>
      <attribute name="total" optional="YES" attributeType="Double"/>
      <attribute name="count" optional="YES" attributeType="Integer 64" defaultValueString="1"/>
      <attribute name="remark" optional="YES" attributeType="UUID"/>
      <relationship name="items" optional="YES" toMany="YES" destinationEntity="Item" inverseName="order"/>
    </entity>
    <entity name="Item">
      <attribute name="name" optional="YES" attributeType="String"/>
      <relationship name="order" optional="YES" destinationEntity="Order" inverseName="items"/>
    </entity>
    <entity name="Gone"><attribute name="x" optional="YES" attributeType="String"/></entity>
    """

  private static let second = """
    <entity name="Order">
      <attribute name="note" optional="YES" attributeType="Integer 64"/>
      <attribute name="total" optional="YES" attributeType="Decimal"/>
      <attribute name="count" optional="YES" attributeType="Integer 64" defaultValueString="2"/>
      <attribute name="comment" optional="YES" attributeType="UUID"/>
      <attribute name="status" attributeType="String"/>
      <relationship name="items" optional="YES" toMany="YES" destinationEntity="Item" inverseName="order"/>
    </entity>
    <entity name="Item">
      <attribute name="name" optional="YES" attributeType="String"/>
      <relationship name="order" optional="YES" destinationEntity="Order" inverseName="items"/>
      <uniquenessConstraints><uniquenessConstraint><constraint value="name"/></uniquenessConstraint>
      </uniquenessConstraints>
    </entity>
    <entity name="Fresh"><attribute name="y" optional="YES" attributeType="String"/></entity>
    """

  @Test("A difference says of each change what becomes of a store, and proposes lines")
  func difference() async throws {
    _ = try write(Self.first, to: "old/Shop.xcdatamodel")
    _ = try write(Self.second, to: "new/Shop.xcdatamodel")
    let diff = try await run("diff", folder.path("old"), folder.path("new"))
    #expect(diff.code == 1, "\(diff.errors)")
    let lines = diff.output.components(separatedBy: "\n")
    let heading = try #require(lines.first { $0.hasPrefix("  from ") })
    #expect(heading.count == "  from 12345678".count)
    #expect(
      lines
        == """
        ~ Order.note: type Integer 64 instead of String
            needs a line in migration.conf
        ~ Order.total: type Decimal instead of Double
            migrates by itself, unless rows are in the way; each value must survive it
        ~ Order.count: default 2 instead of 1
            nothing in a store changes
        + Order.comment: UUID, optional
            migrates by itself
        + Order.status: String
            migrates by itself, unless rows are in the way; objects that are there need a value
        - Order.remark
            migrates by itself; its values go; "rename Order.remark to comment" keeps them
        ~ Item: uniqueness constraints name instead of none
            migrates by itself, unless rows are in the way; no two objects may have the same values already
        + Fresh: 1 property
            migrates by itself
        - Gone
            migrates by itself; its objects stay in the file, unseen; "drop Gone" removes them

        lines for migration.conf:
        \(heading)
          convert Order.note   # or: drop Order.note
          convert Order.total   # or: convert Order.total else 0   # or: drop Order.total   # if rows are in the way
          default Order.status "unknown"   # if rows are in the way

        """.components(separatedBy: "\n"), "\(diff.output)")
    let same = try await run("diff", folder.path("old"), folder.path("old"))
    #expect(same.code == 0 && same.output == "")
    let json = try JSONValue(
      parsing: Array(try await run("diff", "--json", folder.path("old"), folder.path("new")).output.utf8))
    #expect(json["equal"] == false)
    #expect(json["changes"]?.array?.first?["effect"] == "decision")
    #expect(json["changes"]?.array?.count == 9)
  }

  @Test("A bundle's current version is compared with the one before, and versions are named")
  func versions() async throws {
    let bundle = folder.path("Shop.xcdatamodeld")
    _ = try write(Self.first, to: "Shop.xcdatamodeld/Shop.xcdatamodel")
    _ = try write(Self.first, to: "Shop.xcdatamodeld/Shop 2.xcdatamodel")
    _ = try write(Self.second, to: "Shop.xcdatamodeld/Shop 10.xcdatamodel")
    func choose(_ version: String) throws {
      let plist = "<plist><dict><key>_XCCurrentVersionName</key><string>\(version).xcdatamodel</string></dict></plist>"
      try Data(plist.utf8).write(to: URL(filePath: bundle + "/.xccurrentversion"))
    }
    try choose("Shop 10")
    let diff = try await run("diff", bundle)
    #expect(diff.code == 1 && diff.output.hasPrefix("~ Order.note: type Integer 64 instead of String\n"))
    #expect(diff.output.contains("\n  from HASH\n"))
    #expect(try await run("diff", bundle + "@Shop", bundle + "@Shop 2").code == 0)
    #expect(try await run("show", bundle + "@Shop", "Gone").code == 0)
    #expect(try await run("show", bundle, "Gone").code == 2)
    try choose("Shop")
    let alone = try await run("diff", bundle)
    #expect(alone.code == 64 && alone.errors.contains("has no version before \"Shop\""))
    try choose("Shop 3")
    let check = try await run("check", bundle)
    #expect(check.code == 1 && check.output.contains("chooses \"Shop 3\", which is not there"))
  }

  @Test("A check tells all mistakes of a folder, in models and instructions, with file and line")
  func check() async throws {
    _ = try write(
      """
      <entity name="A"><attribute name="a" attributeType="Strnig"/>
        <attribute name="b" attributeType="Txet"/></entity>
      """, to: "models/Bad.xcdatamodel")
    _ = try write("<entity name=\"Job\"/><entity name=\"Item\"/>", to: "models/Own.xcdatamodel")
    _ = try write(Self.second, to: "models/Shop.xcdatamodel")
    try Data("from 01234567\ndorp Item\n".utf8).write(to: URL(filePath: folder.path("models/migration.conf")))
    let check = try await run("check", folder.path("models"))
    #expect(check.code == 1)
    let output = check.output.replacing(folder.path("models") + "/", with: "")
    let lines = output.split(separator: "\n").map(String.init)
    #expect(lines.count == 6, "\(output)")
    #expect(lines[0].hasPrefix("error: Bad.xcdatamodel/contents:2: A.a: the attribute type \"Strnig\""))
    #expect(lines[1].hasPrefix("error: Bad.xcdatamodel/contents:3: A.b: the attribute type \"Txet\""))
    #expect(lines[2] == "error: Own.xcdatamodel: Job: an entity of this name is in bobbin's own model already")
    #expect(lines[3].hasPrefix("error: Shop.xcdatamodel: Item: an entity of this name is in Own.xcdatamodel already"))
    #expect(lines[4].hasPrefix("error: migration.conf:2: \"dorp Item\" is no statement"))
    #expect(lines[5] == "3 models, 5 entities, 5 errors, 0 warnings")
    let one = try await run("check", folder.path("models/Shop.xcdatamodel"), "--json")
    #expect(one.code == 0)
    #expect(try JSONValue(parsing: Array(one.output.utf8))["findings"] == .array([]))
    #expect(try await run("check", folder.path("nowhere")).code == 66)
  }

  @Test("Entities are shown as tables, those of the daemon's folder if no path is given")
  func show() async throws {
    let bundle = try write(Self.second, to: "etc/models/Shop.xcdatamodel")
    let shown = try await run("show", bundle, "Item")
    #expect(
      shown.output == """
        Item
        PROPERTY  TYPE      REQUIRED  DEFAULT  RULES
        name      String
        order     to Order                     inverse items
        unique: name

        """, "\(shown.output)")
    let all = try await run("show", "--root", folder.path)
    #expect(all.code == 0, "\(all.errors)")
    let headings = all.output.components(separatedBy: "\n\n").map { String($0.prefix { $0 != "\n" && $0 != "," }) }
    #expect(headings == ["Fresh", "Item", "Order"], "\(all.output)")
    #expect(try await run("show", "--root", folder.path, folder.path("etc/models"), "Job").code == 0)
    let json = try JSONValue(parsing: Array(try await run("show", "--json", bundle, "Order").output.utf8))
    let properties = json.array?.first?["properties"]?.array ?? []
    #expect(properties.compactMap { $0["name"]?.string } == ["note", "total", "count", "comment", "status", "items"])
    #expect(properties[2]["default"] == "2")
  }
}
