import Foundation
import ObjectModel
import TestSupport
import Testing

@Suite("Model bundles")
struct ModelBundleTests {
  private let directory: TemporaryDirectory
  private let bundle: URL

  init() throws {
    directory = try TemporaryDirectory()
    bundle = directory.url.appending(path: "Shop.xcdatamodeld", directoryHint: .isDirectory)
    try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
  }

  private func add(version: String, entity: String) throws {
    let folder = bundle.appending(path: version + ".xcdatamodel")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try modelXML("<entity name=\"\(entity)\"/>").write(to: folder.appending(path: "contents"))
  }

  private func choose(_ version: String) throws {
    let plist = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": version + ".xcdatamodel"], format: .xml, options: 0)
    try plist.write(to: bundle.appending(path: ".xccurrentversion"))
  }

  @Test("The version that .xccurrentversion names is read, and any other by its name")
  func versions() throws {
    try add(version: "Shop", entity: "First")
    try add(version: "Shop 2", entity: "Second")
    try add(version: "Shop 10", entity: "Tenth")
    try choose("Shop 2")
    #expect(try ModelBundle(bundle).versions() == ["Shop", "Shop 2", "Shop 10"])
    #expect(try ModelBundle(bundle).currentVersion() == "Shop 2")
    #expect(try ManagedObjectModel(contentsOf: bundle).entities.map(\.name) == ["Second"])
    #expect(try ManagedObjectModel(contentsOf: bundle, version: "Shop 10").entities.map(\.name) == ["Tenth"])
  }

  @Test("The only version needs no .xccurrentversion, and a single version or its contents can be read alone")
  func single() throws {
    try add(version: "Any", entity: "Only")
    let version = bundle.appending(path: "Any.xcdatamodel")
    for url in [bundle, version, version.appending(path: "contents")] {
      #expect(try ManagedObjectModel(contentsOf: url).entities.map(\.name) == ["Only"])
    }
  }

  @Test("An .xccurrentversion that chooses none leaves the last version")
  func noChoice() throws {
    try add(version: "Shop 9", entity: "Ninth")
    try add(version: "Shop 10", entity: "Tenth")
    let empty = try PropertyListSerialization.data(fromPropertyList: [String: String](), format: .xml, options: 0)
    try empty.write(to: bundle.appending(path: ".xccurrentversion"))
    #expect(try ManagedObjectModel(contentsOf: bundle).entities.map(\.name) == ["Tenth"])
  }

  @Test("A binary model is refused with what to do about it", arguments: ["elements", "contents"])
  func binary(name: String) throws {
    let version = bundle.appending(path: "Old.xcdatamodel")
    try FileManager.default.createDirectory(at: version, withIntermediateDirectories: true)
    try Data("bplist00".utf8).write(to: version.appending(path: name))
    for url in [bundle, version] {
      let error = #expect(throws: ModelError.self) { try ManagedObjectModel(contentsOf: url) }
      #expect(error?.description.contains("open and save it in Xcode") == true)
    }
  }

  @Test("A bundle that leaves its version open, is empty or not there is an error that names its path")
  func unreadable() throws {
    #expect(message() == "\(bundle.path): holds no .xcdatamodel")
    try add(version: "A", entity: "A")
    try add(version: "B", entity: "B")
    #expect(message() == "\(bundle.path): holds 2 versions and no .xccurrentversion that chooses one")
    try choose("C")
    #expect(message()?.hasPrefix("\(bundle.path)/C.xcdatamodel/contents: the model can't be read: ") == true)
    try Data("junk".utf8).write(to: bundle.appending(path: ".xccurrentversion"))
    #expect(message() == "\(bundle.path)/.xccurrentversion: names no current version (_XCCurrentVersionName)")
    try FileManager.default.removeItem(at: bundle)
    #expect(message()?.hasPrefix("\(bundle.path): the bundle can't be read: ") == true)
  }

  private func message() -> String? {
    do throws(ModelError) {
      _ = try ManagedObjectModel(contentsOf: bundle)
      return nil
    } catch {
      return error.description
    }
  }

  @Test("Merging keeps the entities and configurations of all models and refuses a second entity of one name")
  func merging() throws {
    let first = try model(
      "<entity name=\"A\"/><configuration name=\"C\"><memberEntity name=\"A\"/></configuration>")
    let second = try model(
      "<entity name=\"B\"/><configuration name=\"C\"><memberEntity name=\"B\"/></configuration>")
    let merged = try ManagedObjectModel(merging: [first, second])
    #expect(merged.entities.map(\.name) == ["A", "B"])
    #expect(merged.configurations == ["C": ["A", "B"]])
    let error = #expect(throws: ModelError.self) { try ManagedObjectModel(merging: [first, second, first]) }
    #expect(error?.description == "A: the entity is defined twice")
  }
}
