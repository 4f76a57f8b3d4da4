import Foundation
import Jobs
import ObjectModel
import TestSupport
import Testing

@testable import JobDaemon

@Suite("The model of a daemon")
struct BuiltInModelTests {
  private func model(_ names: String...) throws -> ManagedObjectModel {
    try ManagedObjectModel(names.map { EntityDescription($0) })
  }

  @Test("The entities of a program come to the built-in ones, whose classes stay")
  func merged() throws {
    let merged = try BuiltInModel.merged(withModelsIn: "/nonexistent", and: [model("Mine"), model("Other")])
    #expect(merged.entities.count == Bobbin.model.entities.count + 2)
    #expect(merged.entitiesByName["Job"] != nil && merged.entitiesByName["Other"] != nil)
  }

  @Test("An entity that is there already is refused by name, be it bobbin's own or that of another model")
  func clash() throws {
    for (models, name) in [([try model("Mine", "Attempt")], "Attempt"), ([try model("A"), try model("B", "A")], "A")] {
      let error = #expect(throws: ModelError.self) {
        try BuiltInModel.merged(withModelsIn: "/nonexistent", and: models)
      }
      #expect(error?.entity == name)
    }
  }

  @Test("An entity that two bundles define is refused with the names of both")
  func bundles() throws {
    let directory = try TemporaryDirectory()
    for name in ["First", "Second"] {
      let bundle = directory.url.appending(path: name + ".xcdatamodel")
      try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
      try Data("<model><entity name=\"Account\"/></model>".utf8).write(to: bundle.appending(path: "contents"))
    }
    let error = #expect(throws: ModelError.self) { try BuiltInModel.merged(withModelsIn: directory.path) }
    #expect(
      error?.description == "\(directory.path("Second.xcdatamodel")): Account: an entity of this name is in "
        + "\(directory.path("First.xcdatamodel")) already; rename one of them, or take one model out")
  }
}
