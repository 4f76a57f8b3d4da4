import Foundation
import ObjectGraph
import StoreTesting
import Testing

@Suite("Migrating relationships, files and derived attributes", .onEachStore)
struct RelationshipMigrationTests {
  private static let name = AttributeDescription("name", .string)

  private static func names(_ object: ManagedObject?, _ key: String) -> [String] {
    let value = object?.value(forKey: key)
    let objects = value as? [ManagedObject] ?? (value as? Set<ManagedObject>).map(Array.init) ?? []
    let names = objects.compactMap { $0.value(forKey: "name") as? String }
    return value is [ManagedObject] ? names : names.sorted()
  }

  /// A list and its entries.
  private static func list(
    ordered: Bool, manyToMany: Bool = false, entries: String = "entries", list: String = "list"
  ) -> [EntityDescription] {
    var forward = RelationshipDescription(entries, to: "Entry", inverse: list, isToMany: true)
    forward.isOrdered = ordered
    forward.renamingIdentifier = "entries"
    var back = RelationshipDescription(list, to: "List", inverse: entries, isToMany: manyToMany)
    back.renamingIdentifier = "list"
    return [
      EntityDescription("List", attributes: [name], relationships: [forward]),
      EntityDescription("Entry", attributes: [name], relationships: [back]),
    ]
  }

  @Test(
    "An ordered relationship keeps its order when it is renamed, when others change, and when it becomes many-to-many")
  func ordered() throws {
    let fixture = try MigrationFixture()
    try fixture.with(Self.list(ordered: true)) { context in
      let entries = ["a", "b", "c"].map { context.insert("Entry", ["name": $0]) }
      _ = context.insert("List", ["name": "L", "entries": [entries[2], entries[0], entries[1]]])
    }
    var grown = Self.list(ordered: true, entries: "items", list: "owner")
    grown[1].attributes.append(AttributeDescription("note", .string))
    try fixture.with(grown) { context in
      let found = try Self.names(context.all("List").first, "items")
      #expect(found == ["c", "a", "b"])
    }
    try fixture.with(Self.list(ordered: true, manyToMany: true, entries: "items", list: "owner")) { context in
      let list = try #require(try context.all("List").first)
      #expect(Self.names(list, "items") == ["c", "a", "b"])
      let entry = context.insert("Entry", ["name": "d"])
      entry.setValue([list], forKey: "owner")
    }
    try fixture.with(Self.list(ordered: true, manyToMany: true)) { context in
      let found = try Self.names(context.all("List").first, "entries")
      #expect(found == ["c", "a", "b", "d"])
    }
    try fixture.with(Self.list(ordered: false, manyToMany: true)) { context in
      let found = try Self.names(context.all("List").first, "entries")
      #expect(found == ["a", "b", "c", "d"])
    }
  }

  @Test("A relationship that becomes ordered keeps its objects and can be ordered", arguments: [true, false])
  func becomesOrdered(manyToMany: Bool) throws {
    let fixture = try MigrationFixture()
    try fixture.with(Self.list(ordered: false, manyToMany: manyToMany)) { context in
      let entries = ["a", "b", "c"].map { context.insert("Entry", ["name": $0]) }
      _ = context.insert("List", ["name": "L", "entries": entries])
    }
    try fixture.with(Self.list(ordered: true, manyToMany: manyToMany)) { context in
      let list = try #require(try context.all("List").first)
      let entries = try #require(list.value(forKey: "entries") as? [ManagedObject])
      #expect(Self.names(list, "entries").sorted() == ["a", "b", "c"])
      list.setValue(
        entries.sorted { ($0.value(forKey: "name") as? String ?? "") > ($1.value(forKey: "name") as? String ?? "") },
        forKey: "entries")
    }
    try fixture.with(Self.list(ordered: true, manyToMany: manyToMany)) { context in
      let found = try Self.names(context.all("List").first, "entries")
      #expect(found == ["c", "b", "a"])
    }
  }

  @Test("Links of a many-to-many relationship follow renamed entities and relationships, and objects into a hierarchy")
  func joinTables() throws {
    let fixture = try MigrationFixture()
    func model(_ step: Int) -> [EntityDescription] {
      let (person, club) = (step > 0 ? "Human" : "Person", step > 1 ? "Society" : "Club")
      var clubs = RelationshipDescription(
        step > 0 ? "societies" : "clubs", to: club, inverse: "members", isToMany: true)
      clubs.renamingIdentifier = "clubs"
      let members = RelationshipDescription("members", to: person, inverse: clubs.name, isToMany: true)
      let friends = RelationshipDescription("friends", to: person, inverse: "friends", isToMany: true)
      var people = EntityDescription(person, attributes: [Self.name], relationships: [clubs, friends])
      people.renamingIdentifier = "Person"
      var groups = EntityDescription(club, attributes: [Self.name], relationships: [members])
      groups.renamingIdentifier = "Club"
      groups.parent = step > 1 ? "Group" : nil
      return [people, groups] + (step > 1 ? [EntityDescription("Group")] : [])
    }
    try fixture.with(model(0)) { context in
      let people = ["Ada", "Bob", "Eve"].map { context.insert("Person", ["name": $0]) }
      people[0].setValue([people[1]], forKey: "friends")
      _ = context.insert("Club", ["name": "empty"])
      for (name, members) in [("Chess", [0, 1]), ("Go", [1, 2])] {
        _ = context.insert("Club", ["name": name, "members": members.map { people[$0] }])
      }
    }
    for step in [1, 2, 1] {
      try fixture.with(model(step)) { context in
        let people = try context.all("Human")
        #expect(people.map { Self.names($0, "societies") } == [["Chess"], ["Chess", "Go"], ["Go"]], "step \(step)")
        #expect(people.map { Self.names($0, "friends") } == [["Bob"], ["Ada"], []], "step \(step)")
        let clubs = try context.all(step > 1 ? "Society" : "Club")
        #expect(clubs.map { Self.names($0, "members") } == [[], ["Ada", "Bob"], ["Bob", "Eve"]], "step \(step)")
      }
    }
  }

  @Test("A new required to-one relationship is nil until an object is next validated", arguments: [true, false])
  func newRequired(isEmpty: Bool) throws {
    let fixture = try MigrationFixture()
    func model(_ later: Bool) -> [EntityDescription] {
      var blog = RelationshipDescription("blog", to: "Blog", inverse: "categories")
      blog.isOptional = false
      let categories = RelationshipDescription("categories", to: "Category", inverse: "blog", isToMany: true)
      return [
        EntityDescription("Blog", attributes: [Self.name], relationships: later ? [categories] : []),
        EntityDescription("Category", attributes: [Self.name], relationships: later ? [blog] : []),
      ]
    }
    try fixture.with(model(false)) { context in
      _ = context.insert("Blog", ["name": "B"])
      if !isEmpty { _ = context.insert("Category", ["name": "C"]) }
    }
    try fixture.with(model(true)) { context in
      let blog = try #require(try context.all("Blog").first)
      #expect(Self.names(blog, "categories") == [])
      guard let category = try context.all("Category").first else { return #expect(isEmpty) }
      #expect(category.value(forKey: "blog") == nil && category.value(forKey: "name") as? String == "C")
      category.setValue("D", forKey: "name")
      #expect(throws: (any Error).self) { try context.save() }
      category.setValue(blog, forKey: "blog")
    }
  }

  @Test(
    "A relationship whose entity is no more, and that leads to another now, loses its links and nothing else",
    arguments: [false, true], [false, true])
  func replacedDestination(isToMany: Bool, isNew: Bool) throws {
    let fixture = try MigrationFixture()
    func model(_ later: Bool) -> [EntityDescription] {
      let end = later ? "Part" : "Piece"
      let parts = RelationshipDescription("parts", to: end, inverse: isToMany ? "owner" : nil, isToMany: isToMany)
      let peers = RelationshipDescription("peers", to: end, inverse: nil, isToMany: true)
      let owner = RelationshipDescription("owner", to: "Whole", inverse: "parts")
      let ends = EntityDescription(end, attributes: [Self.name], relationships: isToMany ? [owner] : [])
      let other = EntityDescription("Part", attributes: [Self.name])
      return [EntityDescription("Whole", attributes: [Self.name], relationships: [parts, peers]), ends]
        + (later || isNew ? [] : [other])
    }
    try fixture.with(model(false)) { context in
      if !isNew { _ = context.insert("Part", ["name": "p"]) }
      let pieces = ["a", "b"].map { context.insert("Piece", ["name": $0]) }
      _ = context.insert("Whole", ["name": "W", "parts": isToMany ? pieces : pieces[0], "peers": pieces])
    }
    try fixture.with(model(true)) { context in
      let whole = try #require(try context.all("Whole").first)
      #expect(whole.value(forKey: "name") as? String == "W")
      #expect(Self.names(whole, "peers") == [])
      if isToMany { #expect(Self.names(whole, "parts") == []) } else { #expect(whole.value(forKey: "parts") == nil) }
      let found = try context.all("Part").map { $0.value(forKey: "name") as? String }
      #expect(found == (isNew ? [] : ["p"]))
      let part = context.insert("Part", ["name": "q"])
      whole.setValue(isToMany ? [part] : part, forKey: "parts")
    }
    #expect(try fixture.integrity() == "ok")
  }

  @Test("A relationship to an entity that is no more keeps the links to what is left of its family")
  func removedParent() throws {
    let fixture = try MigrationFixture()
    func model(_ later: Bool) -> [EntityDescription] {
      let pet = RelationshipDescription("pet", to: later ? "Cat" : "Animal")
      return (later ? [] : [EntityDescription("Animal", attributes: [Self.name])]) + [
        EntityDescription("Cat", parent: later ? nil : "Animal", attributes: later ? [Self.name] : []),
        EntityDescription("Person", attributes: [Self.name], relationships: [pet]),
      ]
    }
    try fixture.with(model(false)) { context in
      let animal = context.insert("Animal", ["name": "x"])
      let cat = context.insert("Cat", ["name": "Tom"])
      _ = context.insert("Person", ["name": "Ada", "pet": cat])
      _ = context.insert("Person", ["name": "Bob", "pet": animal])
    }
    try fixture.with(model(true)) { context in
      let pets = try context.all("Person").map { ($0.value(forKey: "pet") as? ManagedObject)?[attribute: "name"] }
      #expect(pets == ["Tom", nil])
    }
  }

  @Test(
    "Large data in files beside the store survives renaming, and goes into the row where files are not allowed any more"
  )
  func files() throws {
    let fixture = try MigrationFixture()
    let data = Data(repeating: 3, count: 300_000)
    func model(_ entity: String, _ attribute: String, external: Bool) -> [EntityDescription] {
      var photo = AttributeDescription(attribute, .binary)
      photo.allowsExternalBinaryDataStorage = external
      photo.renamingIdentifier = "photo"
      var description = EntityDescription(entity, attributes: [photo])
      description.renamingIdentifier = "Person"
      return [description]
    }
    try fixture.with(model("Person", "photo", external: true)) { _ = $0.insert("Person", ["photo": data]) }
    #expect(try fixture.largeValueCount(300_000) == 1)
    for (attribute, external) in [("image", true), ("image", false), ("photo", true)] {
      try fixture.with(model("Human", attribute, external: external)) { context in
        let human = try #require(try context.all("Human").first)
        #expect(human.value(forKey: attribute) as? Data == data)
      }
    }
    #expect(try fixture.largeValueCount(300_000) == 0)
  }

  @Test("A derived attribute that a model adds or defines anew is computed for the objects that are there")
  func derived() throws {
    let fixture = try MigrationFixture()
    func model(_ derivation: String?) -> [EntityDescription] {
      var attributes = [Self.name]
      if let derivation {
        attributes.append(AttributeDescription("shown", .string))
        attributes[1].derivation = derivation
      }
      return [EntityDescription("Person", attributes: attributes)]
    }
    try fixture.with(model(nil)) { _ = $0.insert("Person", ["name": "Ada"]) }
    for (derivation, value) in [("uppercase:(name)", "ADA"), ("lowercase:(name)", "ada")] {
      try fixture.with(model(derivation)) { context in
        let found = try context.all("Person").map { $0[attribute: "shown"] }
        #expect(found == [.string(value)])
      }
    }
  }

  @Test("A staged migration that fails in its code leaves the earlier stages done and the data as it was")
  func failingStage() throws {
    struct Failure: Error {}
    let fixture = try MigrationFixture()
    let models = try (0..<3).map { count in
      try ManagedObjectModel([
        EntityDescription(
          "Person", attributes: [Self.name] + (0..<count).map { AttributeDescription("a\($0)", .integer64) })
      ])
    }
    try fixture.with(model: models[0]) { _ = $0.insert("Person", ["name": "Ada"]) }
    var options = MigrationFixture.Options()
    options.stagedMigration = StagedMigrationManager([
      .lightweight([models[0], models[1]]),
      .custom(
        "count", from: models[1], to: models[2],
        willMigrate: { context in
          for person in try context.all("Person") { person.setValue("lost", forKey: "name") }
          throw Failure()
        }),
    ])
    #expect(throws: StoreError.self) { try fixture.with(model: models[2], options: options) { _ in } }
    try fixture.with(model: models[1]) { context in
      let found = try context.all("Person").map { $0[attribute: "name"] }
      #expect(found == ["Ada"])
    }
  }
}
