import Foundation
import ObjectGraph
import Testing

/// A person with rules of its own, which notes when they are asked.
private final class CheckedPerson: ManagedObject {
  override class var entityName: String { "Person" }

  var calls: [String] = []

  override func validateValue(_ value: @autoclosure () -> Value, forKey key: String) throws {
    calls.append(key)
    try super.validateValue(value(), forKey: key)
    if key == "nickname", value() == "root" {
      throw ValidationError(
        self, property: key, value: value(), rule: .init(rawValue: "reserved"), message: "is reserved")
    }
  }

  override func validateForInsert() throws {
    try super.validateForInsert()
    calls.append("insert")
  }

  override func validateForUpdate() throws {
    try super.validateForUpdate()
    calls.append("update")
  }

  override func validateForDelete() throws {
    try super.validateForDelete()
    calls.append("delete")
  }
}

@Suite("Lifecycle and validation: validation")
struct ValidationTests {
  private func model() throws -> ManagedObjectModel {
    let xml = """
      <model><entity name="Person" representedClassName="CheckedPerson">
        <attribute name="firstName" optional="YES" attributeType="String" minValueString="2" maxValueString="4"/>
        <attribute name="lastName" optional="YES" attributeType="String" regularExpressionString="[A-Z].*"/>
        <attribute name="nickname" optional="YES" attributeType="String"/>
        <attribute name="age" optional="YES" attributeType="Integer 64" minValueString="0" maxValueString="150"
          defaultValueString="0" usesScalarValueType="YES"/>
      </entity></model>
      """
    return try ManagedObjectModel(xml: Data(xml.utf8), classes: ["CheckedPerson": CheckedPerson.self], file: "test")
  }

  private static let keys = ["age", "firstName", "lastName", "nickname"]

  @Test("One validation failure throws that error; several throw one with the list of object, property, value and rule")
  func oneAndSeveral() throws {
    let stack = try Stack(try model())
    try stack.main.performAndWait { main in
      let person = CheckedPerson(context: main)
      person.setValue(151, forKey: "age")
      let one = #expect(throws: ValidationError.self) { try main.save() }
      #expect(one?.rule == .tooLarge && one?.property == "age" && one?.objectID == person.objectID && one?.value == 151)
      person.setValue("A", forKey: "firstName")
      person.setValue("ada", forKey: "lastName")
      let other = CheckedPerson(context: main)
      other.setValue("Augusta", forKey: "firstName")
      other.setValue(-1, forKey: "age")
      let several = #expect(throws: ValidationErrors.self) { try main.save() }
      let found = several?.errors.compactMap { $0 as? ValidationError }.map {
        "\($0.property ?? "") \($0.rule.rawValue)"
      }
      let expected = [
        "age too large", "age too small", "firstName too long", "firstName too short", "lastName pattern mismatch",
      ]
      #expect(found?.sorted() == expected)
      person.setValue(150, forKey: "age")
      person.setValue("Ada", forKey: "firstName")
      person.setValue("Ada", forKey: "lastName")
      main.delete(other)
      try main.save()
      #expect(main.hasChanges == false)
    }
  }

  @Test("validateForInsert, validateForUpdate and validateForDelete run property validation first")
  func order() throws {
    let stack = try Stack(try model())
    try stack.writer.performAndWait { writer in
      let person = CheckedPerson(context: writer)
      for (change, name) in [("insert", "insert"), ("nickname", "update"), ("delete", "delete")] {
        person.calls = []
        if change == "nickname" { person.setValue("ada", forKey: "nickname") }
        if change == "delete" { writer.delete(person) }
        try writer.save()
        #expect(person.calls.dropLast().sorted() == Self.keys && person.calls.last == name)
      }
    }
  }

  @Test("A property that is not valid refuses insert, update and delete before the object's own check is asked")
  func invalidProperty() throws {
    let stack = try Stack(try model())
    try stack.writer.performAndWait { writer in
      let person = CheckedPerson(context: writer)
      func check(_ name: String, _ writer: isolated ManagedObjectContext) {
        person.calls = []
        let error = #expect(throws: ValidationError.self) { try writer.save() }
        #expect(error?.property == "age" && error?.rule == .tooSmall && !person.calls.contains(name))
      }
      person.setValue(-1, forKey: "age")
      check("insert", writer)
      person.setValue(1, forKey: "age")
      try writer.save()
      person.setValue(-1, forKey: "age")
      check("update", writer)
      writer.delete(person)
      check("delete", writer)
      writer.rollback()
      writer.delete(person)
      try writer.save()
    }
  }

  @Test("validateValue can be overridden per object, sees each value before a save, and can be asked beforehand")
  func validateValue() throws {
    let stack = try Stack(try model())
    stack.writer.performAndWait { writer in
      let person = CheckedPerson(context: writer)
      #expect(throws: ValidationError.self) { try person.validateValue("root", forKey: "nickname") }
      #expect(throws: Never.self) { try person.validateValue("ada", forKey: "nickname") }
      let tooOld = #expect(throws: ValidationError.self) { try person.validateValue(151, forKey: "age") }
      #expect(tooOld?.rule == .tooLarge && tooOld?.value == 151)
      let wrong = #expect(throws: ValidationError.self) { try person.validateValue("old", forKey: "age") }
      #expect(wrong?.rule == .wrongType)
      person.setValue("root", forKey: "nickname")
      let error = #expect(throws: ValidationError.self) { try writer.save() }
      #expect(error?.property == "nickname" && error?.value == "root" && error?.rule.rawValue == "reserved")
    }
  }

  @Test("Minimum and maximum counts of a to-many are enforced only when it is not empty")
  func counts() throws {
    let stack = try zoo()
    try stack.writer.performAndWait { writer in
      let keeper = Keeper(context: writer)
      try writer.save()
      let skills = (0..<5).map { skill("\($0)", writer) }
      for (count, rule) in [
        (1, ValidationError.Rule.tooFewDestinations), (2, nil), (4, nil), (5, .tooManyDestinations), (0, nil),
      ] as [(Int, ValidationError.Rule?)] {
        keeper.skills = Set(skills[..<count])
        if let rule {
          let error = #expect(throws: ValidationError.self) { try writer.save() }
          #expect(error?.rule == rule)
        } else {
          try writer.save()
        }
      }
    }
  }

  @Test("A NaN is refused by the save with the name of its property, by every store", arguments: [true, false])
  func notANumber(inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    try stack.writer.performAndWait { writer in
      let object = Everything(context: writer)
      object.real = .nan
      object.maybeCoarse = .nan
      object.exact = .nan
      object.requiredExact = Decimal(Double.nan)
      let error = #expect(throws: ValidationErrors.self) { try writer.save() }
      let errors = error?.errors.compactMap { $0 as? ValidationError } ?? []
      #expect(Set(errors.map(\.property)) == ["real", "maybeCoarse", "exact", "requiredExact"])
      #expect(errors.allSatisfy { $0.rule == .notANumber })
      object.real = .infinity
      object.maybeCoarse = nil
      object.exact = nil
      object.requiredExact = 2.5
      try writer.save()
    }
    let real = try stack.there.performAndWait { try $0.fetch(FetchRequest<Everything>()).first?.real }
    #expect(real == .infinity)
  }

  @Test("A NaN is refused of objects whose class may have checks of its own, too")
  func notANumberOfOwnClass() throws {
    let person = EntityDescription(
      "Person", className: "CheckedPerson",
      attributes: [AttributeDescription("salary", .decimal)])
    let stack = try Stack(try ManagedObjectModel([person], classes: ["CheckedPerson": CheckedPerson.self]))
    stack.writer.performAndWait { writer in
      let person = CheckedPerson(context: writer)
      person.setValue(Decimal.nan, forKey: "salary")
      let error = #expect(throws: ValidationError.self) { try writer.save() }
      #expect(error?.rule == .notANumber)
    }
  }

  private func zoo() throws -> Stack { try Stack(Zoo.model) }

  private func skill(_ title: String, _ context: isolated ManagedObjectContext) -> Skill {
    let skill = Skill(context: context)
    skill.title = title
    return skill
  }
}
