import Foundation
import ObjectGraph
import StoreTesting
import Testing

@Suite("Migrating a store", .onEachStore)
struct MigrationTests {
  private static func person(_ attributes: [AttributeDescription]) -> EntityDescription {
    EntityDescription("Person", attributes: attributes)
  }

  private static let name = AttributeDescription("name", .string)

  @Test("adds and removes attributes, and gives new ones their default")
  func attributes() throws {
    let fixture = try MigrationFixture()
    try fixture.with([Self.person([Self.name, AttributeDescription("age", .integer16)])]) { context in
      _ = context.insert("Person", ["name": "Ada", "age": 36])
    }
    let rank = AttributeDescription("rank", .integer64, isOptional: false, default: 7)
    try fixture.with([Self.person([Self.name, rank])]) { context in
      let ada = try #require(try context.all("Person").first)
      #expect(ada[attribute: "name"] == "Ada" && ada[attribute: "rank"] == 7 && ada[attribute: "age"] == nil)
    }
  }

  @Test("renames entities and attributes by their renaming identifier, also over several versions")
  func renaming() throws {
    let fixture = try MigrationFixture()
    let keys = try fixture.with([Self.person([Self.name])]) { context in
      let ada = context.insert("Person", ["name": "Ada"])
      try context.save()
      return ada.objectID.key
    }
    func renamed(_ entity: String, _ attribute: String) -> EntityDescription {
      var title = AttributeDescription(attribute, .string)
      title.renamingIdentifier = "name"
      var description = EntityDescription(entity, attributes: [title])
      description.renamingIdentifier = "Person"
      return description
    }
    for (entity, attribute) in [("Human", "title"), ("Being", "caption")] {
      try fixture.with([renamed(entity, attribute)]) { context in
        let ada = try #require(try context.all(entity).first)
        #expect(ada[attribute: attribute] == "Ada")
        #expect(ada.objectID.key == keys)
      }
    }
  }

  @Test("makes an attribute optional, and not optional where there is a default; widens integers")
  func optionality() throws {
    let fixture = try MigrationFixture()
    try fixture.with([Self.person([Self.name, AttributeDescription("age", .integer16)])]) { context in
      _ = context.insert("Person", ["age": 36])
    }
    let strict = AttributeDescription("name", .string, isOptional: false, default: "nobody")
    try fixture.with([Self.person([strict, AttributeDescription("age", .integer64)])]) { context in
      let person = try #require(try context.all("Person").first)
      #expect(person[attribute: "name"] == "nobody" && person[attribute: "age"] == 36)
    }
    try fixture.with([Self.person([Self.name, AttributeDescription("age", .integer64)])]) { context in
      try #require(try context.all("Person").first).setValue(nil, forKey: "name")
    }
  }

  @Test("turns a to-one relationship into a to-many one, with an inverse or without")
  func toMany() throws {
    let fixture = try MigrationFixture()
    func model(toMany: Bool, inverse: Bool) -> [EntityDescription] {
      let owner = RelationshipDescription("owner", to: "Person", inverse: toMany ? "cars" : "car")
      var cars = RelationshipDescription(
        toMany ? "cars" : "car", to: "Car", inverse: inverse ? "owner" : nil, isToMany: toMany)
      if toMany { cars.renamingIdentifier = "car" }
      return [
        EntityDescription("Person", attributes: [Self.name], relationships: [cars]),
        EntityDescription("Car", attributes: [Self.name], relationships: inverse ? [owner] : []),
      ]
    }
    try fixture.with(model(toMany: false, inverse: false)) { context in
      _ = context.insert("Car", ["name": "other"])
      let car = context.insert("Car", ["name": "Mini"])
      _ = context.insert("Person", ["name": "Ada", "car": car])
    }
    try fixture.with(model(toMany: true, inverse: true)) { context in
      let ada = try #require(try context.all("Person").first)
      let cars = try #require(ada.value(forKey: "cars") as? Set<ManagedObject>)
      #expect(cars.map { $0[attribute: "name"] } == ["Mini"])
    }
  }

  @Test("turns relationships into many-to-many ones and keeps who belongs to whom")
  func manyToMany() throws {
    let fixture = try MigrationFixture()
    func model(_ many: Bool) -> [EntityDescription] {
      [
        EntityDescription(
          "Person", attributes: [Self.name],
          relationships: [RelationshipDescription("clubs", to: "Club", inverse: "members", isToMany: many)]),
        EntityDescription(
          "Club", attributes: [Self.name],
          relationships: [RelationshipDescription("members", to: "Person", inverse: "clubs", isToMany: true)]),
      ]
    }
    try fixture.with(model(false)) { context in
      let club = context.insert("Club", ["name": "Chess"])
      for name in ["Ada", "Bob"] { _ = context.insert("Person", ["name": name, "clubs": club]) }
      _ = context.insert("Person", ["name": "Eve"])
    }
    for extra in [[], [AttributeDescription("note", .string)]] {
      var changed = model(true)
      changed[0].attributes += extra
      changed[1].renamingIdentifier = "Club"
      try fixture.with(changed) { context in
        let club = try #require(try context.all("Club").first)
        let members = try #require(club.value(forKey: "members") as? Set<ManagedObject>)
        #expect(Set(members.map { $0[attribute: "name"] }) == ["Ada", "Bob"])
      }
    }
  }

  @Test("adds and removes entities")
  func entities() throws {
    let fixture = try MigrationFixture()
    let pet = EntityDescription("Pet", attributes: [Self.name])
    try fixture.with([Self.person([Self.name]), pet]) { context in
      _ = context.insert("Person", ["name": "Ada"])
      _ = context.insert("Pet", ["name": "Tom"])
    }
    let car = EntityDescription("Car", attributes: [Self.name])
    let counts = try fixture.with([Self.person([Self.name]), car]) { context in
      [try context.all("Person").count, try context.all("Car").count]
    }
    #expect(counts == [1, 0])
    #expect(try fixture.with([Self.person([Self.name]), pet]) { try $0.all("Pet").count } == 0)
  }

  @Test("moves entities into a hierarchy and out of it, and references follow their objects")
  func hierarchies() throws {
    let fixture = try MigrationFixture()
    func model(_ parent: String?) -> [EntityDescription] {
      let own = parent == nil ? [Self.name] : []
      let owner = RelationshipDescription("pet", to: "Cat")
      var animal = EntityDescription("Animal", attributes: [Self.name])
      animal.isAbstract = true
      return (parent == nil ? [] : [animal]) + [
        EntityDescription("Dog", parent: parent, attributes: own),
        EntityDescription("Cat", parent: parent, attributes: own),
        EntityDescription("Person", attributes: [Self.name], relationships: [owner]),
      ]
    }
    try fixture.with(model(nil)) { context in
      _ = context.insert("Dog", ["name": "Rex"])
      let cat = context.insert("Cat", ["name": "Tom"])
      _ = context.insert("Person", ["name": "Ada", "pet": cat])
    }
    for parent in ["Animal", nil] {
      try fixture.with(model(parent)) { context in
        let found = try context.all("Dog").map { $0[attribute: "name"] }
        #expect(found == ["Rex"])
        let ada = try #require(try context.all("Person").first)
        #expect((ada.value(forKey: "pet") as? ManagedObject)?[attribute: "name"] == "Tom")
        if parent != nil { #expect(try context.all("Animal").count == 2) }
      }
    }
  }

  @Test("throws and names what can't be inferred, and leaves the file as it was")
  func notInferable() throws {
    let fixture = try MigrationFixture()
    try fixture.with([Self.person([Self.name])]) { context in
      _ = context.insert("Person", ["name": "Ada"])
      _ = context.insert("Person", [:])
    }
    let changes: [(AttributeDescription, String)] = [
      (AttributeDescription("name", .double), "Person.name was String and is Double now"),
      (
        AttributeDescription("name", .string, isOptional: false),
        "Person.name was optional and has no default for 1 object (key 2) without a value"
      ),
      (
        AttributeDescription("rank", .integer64, isOptional: false),
        "Person.rank is new, not optional and without a default for 2 objects (keys 1, 2)"
      ),
    ]
    for (attribute, text) in changes {
      let error = #expect(throws: StoreError.self) { try fixture.with([Self.person([attribute])]) { _ in } }
      #expect(error?.code == .incompatibleModel)
      #expect(error?.message.contains(text) == true, "\(error?.message ?? "")")
    }
    #expect(try fixture.with([Self.person([Self.name])]) { try $0.all("Person").count } == 2)
  }

  @Test("reaches a required attribute without a default when no row lacks it: no rows, or all have been filled")
  func required() throws {
    let fixture = try MigrationFixture()
    let title = AttributeDescription("title", .string, isOptional: false)
    let titled = Self.person([Self.name, title])
    try fixture.with([Self.person([Self.name])]) { _ in }
    try fixture.with([titled]) { _ = $0.insert("Person", ["name": "Ada", "title": "Lady"]) }
    try fixture.with([Self.person([Self.name, AttributeDescription("title", .string)])]) { context in
      let found = try context.all("Person").map { $0[attribute: "title"] }
      #expect(found == ["Lady"])
    }
    try fixture.with([titled]) { context in
      let found = try context.all("Person").map { $0[attribute: "title"] }
      #expect(found == ["Lady"])
    }
  }

  @Test("reaches a required attribute by a staged migration whose code has filled it for every row")
  func requiredByStages() throws {
    let fixture = try MigrationFixture()
    let first = try ManagedObjectModel([Self.person([Self.name])])
    let both = try ManagedObjectModel([Self.person([Self.name, AttributeDescription("title", .string)])])
    let last = try ManagedObjectModel([
      Self.person([Self.name, AttributeDescription("title", .string, isOptional: false)])
    ])
    try fixture.with(model: first) { context in
      for name in ["Ada", "Bob"] { _ = context.insert("Person", ["name": name]) }
    }
    var options = MigrationFixture.Options()
    options.stagedMigration = StagedMigrationManager([
      .custom(
        "fill titles", from: first, to: both,
        didMigrate: { context in
          for person in try context.all("Person") { person.setValue("T", forKey: "title") }
        }), .lightweight([last]),
    ])
    try fixture.with(model: last, options: options) { context in
      let found = try context.all("Person").map { $0[attribute: "title"] }
      #expect(found == ["T", "T"])
    }
  }

  @Test("keeps the old file's data if the rows do not fit: a new uniqueness constraint is violated")
  func failing() throws {
    let fixture = try MigrationFixture()
    try fixture.with([Self.person([Self.name])]) { context in
      for _ in 0..<2 { _ = context.insert("Person", ["name": "Ada"]) }
    }
    var unique = Self.person([Self.name, AttributeDescription("age", .integer64)])
    unique.uniquenessConstraints = [["name"]]
    let error = #expect(throws: StoreError.self) { try fixture.with([unique]) { _ in } }
    #expect(error?.code == .incompatibleModel && error?.message.contains("Person.name") == true)
    #expect(try fixture.with([Self.person([Self.name])]) { try $0.all("Person").count } == 2)
    #expect(try fixture.integrity() == "ok")
  }

  @Test("does not migrate where it is switched off")
  func switchedOff() throws {
    let fixture = try MigrationFixture()
    try fixture.with([Self.person([Self.name])]) { _ in }
    var options = MigrationFixture.Options()
    options.migratesAutomatically = false
    let grown = [Self.person([Self.name, AttributeDescription("age", .integer64)])]
    let error = #expect(throws: StoreError.self) { try fixture.with(grown, options: options) { _ in } }
    #expect(error?.message.contains("switched off") == true)
    try fixture.with(grown) { _ in }
  }

  @Test("indexes are not part of the version hash, uniqueness constraints are")
  func hashes() throws {
    func hash(_ change: (inout EntityDescription) -> Void) throws -> VersionHash? {
      var person = Self.person([Self.name])
      change(&person)
      return try ManagedObjectModel([person]).entitiesByName["Person"]?.versionHash
    }
    let plain = try hash { _ in }
    #expect(try hash { $0.fetchIndexes = [.init(name: "byName", elements: [.init(property: "name")])] } == plain)
    #expect(try hash { $0.uniquenessConstraints = [["name"]] } != plain)
  }

  @Test("runs custom code between versions, before and after the tables change")
  func stages() throws {
    let fixture = try MigrationFixture()
    let first = try ManagedObjectModel([Self.person([Self.name])])
    let (given, family) = (AttributeDescription("given", .string), AttributeDescription("family", .string))
    let both = try ManagedObjectModel([Self.person([Self.name, given, family])])
    let last = try ManagedObjectModel([Self.person([given, family])])
    try fixture.with(model: first) { _ = $0.insert("Person", ["name": "Ada Lovelace"]) }
    var options = MigrationFixture.Options()
    options.stagedMigration = StagedMigrationManager([
      .custom(
        "split names", from: first, to: both,
        willMigrate: { context in
          for person in try context.all("Person") { person.setValue("Ada King", forKey: "name") }
        },
        didMigrate: { context in
          for person in try context.all("Person") {
            let parts = (person.value(forKey: "name") as? String ?? "").split(separator: " ").map(String.init)
            person.setValue(parts.first, forKey: "given")
            person.setValue(parts.last, forKey: "family")
          }
        }),
      .lightweight([last]),
    ])
    try fixture.with(model: last, options: options) { context in
      let ada = try #require(try context.all("Person").first)
      #expect(ada[attribute: "given"] == "Ada" && ada[attribute: "family"] == "King")
    }
  }
}
