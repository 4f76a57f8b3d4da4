import Foundation
import ObjectGraph
import ObjectModel
import Testing

/// A person that notes which of its hooks were called, and changes itself in some.
private final class WatchedPerson: ManagedObject {
  override class var entityName: String { "Person" }

  var calls: [String] = []
  var timesToChange = 0

  var age: Int64 {
    get { self[integer: 2] }
    set { self[integer: 2] = newValue }
  }

  override func awakeFromInsert() { age = 42 }
  override func awakeFromFetch() { calls.append("awakeFromFetch \(age)") }

  override func willSave() {
    calls.append("willSave")
    if timesToChange > 0 {
      timesToChange -= 1
      age += 1
    }
  }

  override func didSave() { calls.append("didSave") }

  override func validateForUpdate() throws {
    try super.validateForUpdate()
    calls.append("validateForUpdate")
  }
}

@Suite("Hooks of objects and validation")
struct LifecycleTests {
  private func watchedModel() throws -> ManagedObjectModel {
    let xml = """
      <model><entity name="Person" representedClassName="WatchedPerson">
        <attribute name="firstName" optional="YES" attributeType="String" minValueString="2" maxValueString="4"/>
        <attribute name="lastName" optional="YES" attributeType="String" regularExpressionString="[A-Z].*"/>
        <attribute name="age" optional="YES" attributeType="Integer 64" minValueString="0" maxValueString="150"
          defaultValueString="0" usesScalarValueType="YES"/>
      </entity></model>
      """
    return try ManagedObjectModel(xml: Data(xml.utf8), classes: ["WatchedPerson": WatchedPerson.self], file: "test")
  }

  @Test("Values set in awakeFromInsert and willSave are saved, and didSave runs once, for deleted objects too")
  func hooks() throws {
    let stack = try Stack(try watchedModel())
    let id = try stack.writer.performAndWait { writer in
      let person = WatchedPerson(context: writer)
      #expect(person.age == 42)
      person.timesToChange = 2
      try writer.save()
      #expect(person.calls == ["willSave", "willSave", "willSave", "didSave"])
      person.calls = []
      person.age = 50
      try writer.save()
      #expect(person.calls == ["willSave", "validateForUpdate", "didSave"])
      return person.objectID
    }
    #expect(try SQLiteShell(path: stack.storePath).run("SELECT age FROM Person") == "50")
    try stack.root().performAndWait { root in
      let person = try #require(root.object(with: id) as? WatchedPerson)
      #expect(person.age == 50 && person.calls == ["awakeFromFetch 50"] && !person.hasChanges)
      root.delete(person)
      person.calls = []
      try root.save()
      #expect(person.calls == ["willSave", "didSave"])
    }
  }

  @Test("One broken rule is thrown itself, several are thrown together, each with object, property and rule")
  func validation() throws {
    let stack = try Stack(try watchedModel())
    try stack.main.performAndWait { main in
      let person = WatchedPerson(context: main)
      person.age = 151
      let one = #expect(throws: ValidationError.self) { try main.save() }
      #expect(one?.rule == .tooLarge && one?.property == "age" && one?.objectID == person.objectID)
      person.setValue("A", forKey: "firstName")
      person.setValue("ada", forKey: "lastName")
      let other = WatchedPerson(context: main)
      other.setValue("Augusta", forKey: "firstName")
      other.age = -1
      let several = #expect(throws: ValidationErrors.self) { try main.save() }
      let found = several?.errors.compactMap { $0 as? ValidationError }.map {
        "\($0.property ?? "") \($0.rule.rawValue)"
      }
      let expected = [
        "age too large", "age too small", "firstName too long", "firstName too short", "lastName pattern mismatch",
      ]
      #expect(found?.sorted() == expected)
      person.age = 150
      person.setValue("Ada", forKey: "firstName")
      person.setValue("Ada", forKey: "lastName")
      main.delete(other)
      try main.save()
      #expect(main.hasChanges == false)
    }
  }
}
