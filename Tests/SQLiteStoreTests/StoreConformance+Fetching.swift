import Foundation
import ObjectGraph
import Testing

extension StoreConformance {
  /// Ten people, ages 0, 10, … 90, of whom those of even age / 20 work for ACME.
  private func people(_ kind: StoreKind) throws -> StoreFixture {
    let fixture = try StoreFixture(kind)
    let (acme, _) = try fixture.insert("Company", ["name": "ACME"])
    for number in 0..<10 {
      var values: [String: Any] = ["name": number < 5 ? "Zoë \(number)" : "anna \(number)", "age": number * 10]
      if number % 2 == 0 { values["employer"] = acme }
      try fixture.insert("Person", values)
    }
    return fixture
  }

  private func query(_ fixture: StoreFixture, _ entity: String = "Person", _ condition: Condition? = nil) throws
    -> StoreQuery
  {
    let entity = try fixture.entity(entity)
    return StoreQuery(
      entity: entity, condition: try condition?.resolved(for: entity), coordinatorOrdinal: StoreFixture.ordinal)
  }

  private func ages(_ fixture: StoreFixture, _ query: StoreQuery) throws -> [Int64] {
    let age = try fixture.slot("Person", "age")
    var ages: [Int64] = []
    try fixture.store.read { reader in
      try reader.fetch(query) { id, row in
        ages.append(try #require(row).row.integer(age))
        #expect(row?.version == 1)
        return true
      }
    }
    return ages
  }

  @Test("fetches what a condition matches, sorted, within offset and limit", arguments: StoreKind.allCases)
  func fetching(kind: StoreKind) throws {
    let fixture = try people(kind)
    let condition = Condition.between(.keyPath(["age"]), lower: .value(20), upper: .value(70))
    var query = try query(fixture, "Person", condition)
    query.sortDescriptors = [ResolvedSort(keyPath: ["age"], isAscending: false)]
    #expect(try ages(fixture, query) == [70, 60, 50, 40, 30, 20])
    query.offset = 1
    query.limit = 3
    #expect(try ages(fixture, query) == [60, 50, 40])
    #expect(try fixture.store.read { try $0.count(query) } == 3)
    query.offset = 100
    #expect(try ages(fixture, query) == [])
    #expect(try fixture.store.read { try $0.count(query) } == 0)
  }

  @Test("reads the first links of an object in their order, and no more than are wanted", arguments: StoreKind.allCases)
  func firstLinks(kind: StoreKind) throws {
    let name = [AttributeDescription("name", .string)]
    var songs = RelationshipDescription("songs", to: "Song", inverse: "lists", isToMany: true)
    songs.isOrdered = true
    let fixture = try StoreFixture(
      kind,
      model: try ManagedObjectModel([
        EntityDescription("List", attributes: name, relationships: [songs]),
        EntityDescription(
          "Song", attributes: name,
          relationships: [RelationshipDescription("lists", to: "List", inverse: "songs", isToMany: true)]),
      ]))
    let (list, _) = try fixture.insert("List", ["name": "all"])
    let songIDs = try (0..<20).map { try fixture.insert("Song", ["name": "\($0)"]).0 }
    let property = try #require(try fixture.entity("List").property(named: "songs"))
    let table = try #require(property.joinTable)
    let links = songIDs.enumerated().map { index, song in
      let (left, right) = property.isLeftEnd ? (list, song) : (song, list)
      // The last song comes first.
      let place = Int64(100 - index)
      return LinkChange(
        LinkKey(table: table.index, left: left, right: right), isPresent: true, order: property.isLeftEnd ? place : nil,
        inverseOrder: property.isLeftEnd ? nil : place)
    }
    #expect(try fixture.store.save(StoreSaveRequest([ChangeSet([], links: links)])).conflicts.isEmpty)
    let lists = try #require(try fixture.entity("Song").property(named: "lists"))
    func found(_ id: ManagedObjectID, _ property: Property, limit: Int?) throws -> [ManagedObjectID] {
      try fixture.store.read { try $0.links(of: id, property, limit: limit).map(\.destination) }
    }
    #expect(try found(list, property, limit: 3) == Array(songIDs.reversed().prefix(3)))
    #expect(try found(list, property, limit: 50) == songIDs.reversed())
    #expect(try found(list, property, limit: nil).count == 20)
    #expect(try found(songIDs[0], lists, limit: 1) == [list])
  }

  @Test("fetches through a to-one relationship", arguments: StoreKind.allCases)
  func fetchingThroughRelationship(kind: StoreKind) throws {
    let fixture = try people(kind)
    let condition = Condition.compare(.keyPath(["employer", "name"]), .equal, .value("ACME"), [])
    #expect(try ages(fixture, try query(fixture, "Person", condition)) == [0, 20, 40, 60, 80])
  }

  @Test("compares texts without regard to case and marks", arguments: StoreKind.allCases)
  func fetchingFolded(kind: StoreKind) throws {
    let fixture = try people(kind)
    let condition = Condition.compare(
      .keyPath(["name"]), .beginsWith, .value("zoe"), [.caseInsensitive, .diacriticInsensitive])
    var query = try query(fixture, "Person", condition)
    #expect(try ages(fixture, query) == [0, 10, 20, 30, 40])
    query.condition = nil
    query.sortDescriptors = [ResolvedSort(keyPath: ["name"], isAscending: true, textOrder: .caseInsensitive)]
    query.limit = 1
    #expect(try ages(fixture, query) == [50])
  }

  @Test("fetches IDs without rows, and stops when told to", arguments: StoreKind.allCases)
  func fetchingIDs(kind: StoreKind) throws {
    let fixture = try people(kind)
    var query = try query(fixture)
    query.wantsRows = false
    var keys: [Int64] = []
    try fixture.store.read { reader in
      try reader.fetch(query) { id, row in
        #expect(row == nil)
        keys.append(id.key)
        return keys.count < 4
      }
    }
    #expect(keys == [1, 2, 3, 4])
  }

  @Test("fetches subentities with their own entity, or leaves them out", arguments: StoreKind.allCases)
  func fetchingHierarchy(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    try fixture.insert("Dog", ["name": "Rex", "tricks": 3])
    try fixture.insert("Cat", ["name": "Tom", "lives": 9])
    func names(_ query: StoreQuery) throws -> [String] {
      var names: [String] = []
      try fixture.store.read { reader in
        try reader.fetch(query) { id, row in
          let entity = fixture.model.entities[Int(id.entityIndex)]
          #expect(row?.row.entityIndex == id.entityIndex)
          names.append("\(entity.name) \(row?.row.text(try fixture.slot(entity.name, "name")) ?? "")")
          return true
        }
      }
      return names
    }
    #expect(try names(try query(fixture, "Animal")) == ["Dog Rex", "Cat Tom"])
    #expect(try names(try query(fixture, "Cat")) == ["Cat Tom"])
    var alone = try query(fixture, "Animal")
    alone.includesSubentities = false
    #expect(try names(alone) == [])
  }

  @Test("fetches inside a fetch, each from the state of its reader", arguments: StoreKind.allCases)
  func nestedFetches(kind: StoreKind) throws {
    let fixture = try people(kind)
    let query = try query(fixture)
    var pairs = 0
    try fixture.store.read { reader in
      try reader.fetch(query) { _, _ in
        try reader.fetch(query) { _, _ in
          pairs += 1
          return true
        }
        if pairs == 10 { try fixture.insert("Person", ["name": "late"]) }
        return true
      }
    }
    #expect(pairs == 100)
    #expect(try fixture.store.read { try $0.count(query) } == 11)
  }
}
