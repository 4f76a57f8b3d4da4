import Foundation
import ObjectGraph
import StoreTesting
import Testing

@Suite("Migrating with policies", .onEachStore)
struct PolicyTests {
  private static let name = AttributeDescription("name", .string)

  private static func options(
    _ first: ManagedObjectModel, _ last: ManagedObjectModel, _ policies: [EntityMigrationPolicy]
  ) -> MigrationFixture.Options {
    var options = MigrationFixture.Options()
    options.stagedMigration = StagedMigrationManager([
      .custom("policies", from: first, to: last, policies: policies)
    ])
    return options
  }

  /// People with a full name and a year as text, who work for a firm; then contacts with two names and a number.
  private static func people() throws -> (first: ManagedObjectModel, last: ManagedObjectModel) {
    func firm(_ inverse: String, _ entity: String) -> EntityDescription {
      EntityDescription(
        "Firm", attributes: [name],
        relationships: [RelationshipDescription("staff", to: entity, inverse: inverse, isToMany: true)])
    }
    let born = AttributeDescription("born", .string)
    let person = EntityDescription(
      "Person", attributes: [name, born],
      relationships: [RelationshipDescription("firm", to: "Firm", inverse: "staff")])
    let contact = EntityDescription(
      "Contact",
      attributes: [
        AttributeDescription("given", .string, isOptional: false), AttributeDescription("family", .string),
        AttributeDescription("born", .integer16),
      ], relationships: [RelationshipDescription("firm", to: "Firm", inverse: "staff")])
    return (
      try ManagedObjectModel([firm("firm", "Person"), person]),
      try ManagedObjectModel([firm("firm", "Contact"), contact])
    )
  }

  private static let split = EntityMigrationPolicy.transform("Person", into: "Contact") { person, contact, _ in
    let names = (try person.value("name", as: String.self) ?? "").split(separator: " ").map(String.init)
    contact.setValue(names.first, forKey: "given")
    contact.setValue(names.last, forKey: "family")
    contact.setValue(try person.value("born", as: String.self).flatMap { Int($0) }, forKey: "born")
  }

  private static func insertPeople(_ count: Int, _ context: isolated ManagedObjectContext) throws {
    let firms = ["A", "B"].map { context.insert("Firm", ["name": $0]) }
    for number in 0..<count {
      let person = context.insert("Person", ["name": "G\(number) F\(number)", "born": "\(1900 + number % 100)"])
      if number % 3 != 0 { person.setValue(firms[number % 2], forKey: "firm") }
    }
  }

  @Test("split, rename and convert attributes of each row, in several batches, and links follow")
  func transform() throws {
    let fixture = try MigrationFixture()
    let (first, last) = try Self.people()
    try fixture.with(model: first) { try Self.insertPeople(1_201, $0) }
    try fixture.with(model: last, options: Self.options(first, last, [Self.split])) { context in
      let contacts = try context.all("Contact")
      #expect(contacts.count == 1_201)
      for (number, contact) in contacts.enumerated() {
        #expect(contact.objectID.key == contacts[0].objectID.key + Int64(number))
        #expect(contact[attribute: "given"] == .string("G\(number)"))
        #expect(contact[attribute: "family"] == .string("F\(number)"))
        #expect(contact[attribute: "born"] == .integer(Int64(1900 + number % 100)))
        let firm = (contact.value(forKey: "firm") as? ManagedObject)?[attribute: "name"]
        #expect(firm == (number % 3 == 0 ? nil : number % 2 == 0 ? "A" : "B"))
      }
      _ = context.insert("Contact", ["given": "new"])
    }
    #expect(try fixture.leftovers() == "0")
    try fixture.with(model: last) { context in
      #expect(try context.all("Contact").count == 1_202)
      try context.coordinator.checkInvariants()
    }
  }

  @Test("merge many objects into one, make others, and drop an entity; what is inferred is there for the code")
  func replace() throws {
    let fixture = try MigrationFixture()
    let first = try ManagedObjectModel([
      EntityDescription(
        "Entry", attributes: [Self.name, AttributeDescription("category", .string)],
        relationships: [RelationshipDescription("list", to: "List", inverse: nil)]),
      EntityDescription("List", attributes: [Self.name]), EntityDescription("Log", attributes: [Self.name]),
    ])
    var category = EntityDescription(
      "Category", attributes: [Self.name],
      relationships: [RelationshipDescription("items", to: "Item", inverse: "category", isToMany: true)])
    category.uniquenessConstraints = [["name"]]
    let item = EntityDescription(
      "Item", attributes: [Self.name],
      relationships: [
        RelationshipDescription("category", to: "Category", inverse: "items"),
        RelationshipDescription("list", to: "List", inverse: nil),
      ])
    let last = try ManagedObjectModel([
      category, item, EntityDescription("List", attributes: [Self.name, AttributeDescription("count", .integer64)]),
      EntityDescription("Log", attributes: [AttributeDescription("text", .string)]),
    ])
    try fixture.with(model: first) { context in
      let lists = ["L0", "L1"].map { context.insert("List", ["name": $0]) }
      for number in 0..<1_100 {
        _ = context.insert(
          "Entry", ["name": "e\(number)", "category": "c\(number % 7)", "list": lists[number % 2]])
      }
      _ = context.insert("Log", ["name": "old"])
    }
    let entries = EntityMigrationPolicy.replace("Entry") { entry, context in
      let name = try #require(try entry.value("category", as: String.self))
      let request = FetchRequest<ManagedObject>(entity: "Category", try Condition(format: "name == '\(name)'"))
      let category = try context.fetch(request).first ?? context.insert("Category", ["name": name])
      let list = try entry.destination("list", in: context)
      let item = context.insert("Item", ["name": try entry.value("name", as: String.self) ?? "", "category": category])
      item.setValue(list, forKey: "list")
    }
    try fixture.with(model: last, options: Self.options(first, last, [.drop("Log"), entries])) { context in
      #expect(try context.all("Log").isEmpty)
      let categories = try context.all("Category")
      #expect(categories.map { $0[attribute: "name"] } == (0..<7).map { .string("c\($0)") })
      let items = try context.all("Item")
      #expect(items.count == 1_100)
      for (number, item) in items.enumerated() {
        #expect(item[attribute: "name"] == .string("e\(number)"))
        #expect((item.value(forKey: "category") as? ManagedObject)?[attribute: "name"] == .string("c\(number % 7)"))
        #expect((item.value(forKey: "list") as? ManagedObject)?[attribute: "name"] == .string("L\(number % 2)"))
      }
      try context.coordinator.checkInvariants()
    }
  }

  @Test("leave the store as it was when their code fails late, and when it leaves a required value out")
  func failures() throws {
    struct Failure: Error {}
    let fixture = try MigrationFixture()
    let (first, last) = try Self.people()
    try fixture.with(model: first) { try Self.insertPeople(700, $0) }
    let failing = EntityMigrationPolicy.transform("Person", into: "Contact") { person, contact, _ in
      contact.setValue("x", forKey: "given")
      if try person.value("name", as: String.self) == "G650 F650" { throw Failure() }
    }
    let idle = EntityMigrationPolicy.transform("Person", into: "Contact") { person, contact, _ in
      if try person.value("born", as: String.self) != "1905" { contact.setValue("x", forKey: "given") }
    }
    for (policy, message) in [
      (failing, "Failure()"), (idle, "leaves 7 objects without Contact.given, which is required"),
    ] {
      let error = #expect(throws: StoreError.self) {
        try fixture.with(model: last, options: Self.options(first, last, [policy])) { _ in }
      }
      #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
      try fixture.with(model: first) { context in
        let people = try context.all("Person")
        #expect(people.count == 700 && people[650][attribute: "name"] == "G650 F650")
        #expect((people[2].value(forKey: "firm") as? ManagedObject)?[attribute: "name"] == "A")
      }
      #expect(try fixture.integrity() == "ok")
    }
    try fixture.with(model: last, options: Self.options(first, last, [Self.split])) { context in
      let count = try context.all("Contact").count
      #expect(count == 700)
    }
  }

  @Test("A process that is killed in the code of a stage leaves the store as it was, and the next one migrates it")
  func kill() async throws {
    let fixture = try MigrationFixture()
    let (first, last) = try Self.people()
    try fixture.with(model: first) { try Self.insertPeople(700, $0) }
    let address = fixture.address
    await #expect(processExitsWith: .signal(SIGKILL)) { [address = address as String] in
      let (first, last) = try PolicyTests.people()
      let deadly = EntityMigrationPolicy.transform("Person", into: "Contact") { person, contact, _ in
        contact.setValue("x", forKey: "given")
        if try person.value("name", as: String.self) == "G650 F650" { raise(SIGKILL) }
      }
      let coordinator = PersistentStoreCoordinator(model: last)
      try coordinator.open(MigrationFixture.description(address, PolicyTests.options(first, last, [deadly])))
    }
    try fixture.with(model: first) { context in
      let count = try context.all("Person").count
      #expect(count == 700)
    }
    try fixture.with(model: last, options: Self.options(first, last, [Self.split])) { context in
      let count = try context.all("Contact").count
      #expect(count == 700)
    }
    #expect(try fixture.integrity() == "ok")
  }
}
