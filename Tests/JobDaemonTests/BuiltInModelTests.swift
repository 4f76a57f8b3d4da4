import Jobs
import ObjectModel
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
}
