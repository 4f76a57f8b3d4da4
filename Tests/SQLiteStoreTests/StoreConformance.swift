import Foundation
import ObjectGraph
import Testing

/// What every store promises; each test runs on all of them.
@Suite("Every store")
struct StoreConformance {
  @Test("hands out every key once, whoever asks", arguments: StoreKind.allCases)
  func disjointBlocks(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    let person = try fixture.entity("Person")
    let company = try fixture.entity("Company")
    let first = try fixture.store.reserveKeys(KeyReservation(root: person, count: 100))
    let second = try fixture.store.reserveKeys(KeyReservation(root: person, count: 50))
    let other = try fixture.store.reserveKeys(KeyReservation(root: company, count: 1))
    let saved = try fixture.store.save(StoreSaveRequest([], reservations: [KeyReservation(root: person, count: 5)]))
    #expect(first == 1..<101)
    #expect(second == 101..<151)
    #expect(other == 1..<2)
    #expect(saved.reserved == [151..<156])
  }

  @Test("counts an object's versions up from 1 and tells the rows", arguments: StoreKind.allCases)
  func versions(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    let (id, first) = try fixture.insert("Person", ["name": "Ada"])
    #expect(first.version == 1)
    let change = try fixture.update(id, first, "Person", ["name": "Augusta Ada"])
    #expect(change.row?.version == 0)
    #expect(try fixture.save(change).conflicts.isEmpty)
    #expect(change.row?.version == 2)
    let stored = try #require(try fixture.stored(id))
    #expect(stored.version == 2)
    #expect(stored.text(try fixture.slot("Person", "name")) == "Augusta Ada")
    #expect(try fixture.save(RowChange(.delete, id, row: nil, base: stored)).conflicts.isEmpty)
    #expect(try fixture.stored(id) == nil)
  }

  @Test("reports all conflicts with the stored rows and writes nothing", arguments: StoreKind.allCases)
  func conflicts(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    let (moved, movedRow) = try fixture.insert("Person", ["name": "moved"])
    let (gone, goneRow) = try fixture.insert("Person", ["name": "gone"])
    let (calm, calmRow) = try fixture.insert("Person", ["name": "calm"])
    let (raced, racedRow) = try fixture.insert("Person", ["name": "raced"])
    _ = try fixture.save(
      try fixture.update(moved, movedRow, "Person", ["name": "moved on"]),
      RowChange(.delete, gone, row: nil, base: goneRow),
      try fixture.update(raced, racedRow, "Person", ["name": "raced on"]))
    let newID = try fixture.newID("Person")
    let result = try fixture.save(
      RowChange(.insert, newID, row: try fixture.row("Person"), base: nil),
      try fixture.update(calm, calmRow, "Person", ["name": "not written"]),
      try fixture.update(moved, movedRow, "Person", ["name": "mine"]),
      try fixture.update(gone, goneRow, "Person", ["name": "mine"]),
      RowChange(.delete, raced, row: nil, base: racedRow))
    #expect(Set(result.conflicts.map(\.change.id)) == [moved, gone, raced])
    let name = try fixture.slot("Person", "name")
    for conflict in result.conflicts {
      switch conflict.change.id {
      case moved:
        #expect(conflict.stored?.row.text(name) == "moved on")
        #expect(conflict.stored?.version == 2)
      case raced: #expect(conflict.stored?.row.text(name) == "raced on")
      default: #expect(conflict.stored == nil)
      }
    }
    #expect(try fixture.stored(newID) == nil)
    #expect(try fixture.stored(calm)?.text(name) == "calm")
    #expect(try fixture.stored(raced) != nil)
  }

  @Test("refuses a second object with a unique value and writes nothing", arguments: StoreKind.allCases)
  func uniqueness(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    try fixture.insert("Person", ["email": "a@example.org"])
    try fixture.insert("Person")
    try fixture.insert("Person")
    let (first, second) = (try fixture.newID("Person"), try fixture.newID("Person"))
    let error = #expect(throws: StoreError.self) {
      try fixture.save(
        RowChange(.insert, first, row: try fixture.row("Person", ["email": "b@example.org"]), base: nil),
        RowChange(.insert, second, row: try fixture.row("Person", ["email": "a@example.org"]), base: nil))
    }
    #expect(error?.code == .constraint)
    #expect(error?.message.contains("Person.email") == true)
    #expect(error?.message.contains("a@example.org") == false)
    #expect(try fixture.stored(first) == nil)
    // The store still works, and the name is free.
    try fixture.insert("Person", ["email": "b@example.org"])
  }

  @Test("lets a unique value move from a deleted object to a new one in one save", arguments: StoreKind.allCases)
  func uniqueValueMoves(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    let (old, oldRow) = try fixture.insert("Person", ["email": "a@example.org"])
    let new = try fixture.newID("Person")
    let result = try fixture.save(
      RowChange(.insert, new, row: try fixture.row("Person", ["email": "a@example.org"]), base: nil),
      RowChange(.delete, old, row: nil, base: oldRow))
    #expect(result.conflicts.isEmpty)
    #expect(try fixture.stored(new) != nil)
  }

  @Test("refuses a primary key that is taken", arguments: StoreKind.allCases)
  func primaryKey(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    let (id, _) = try fixture.insert("Person", ["name": "first"])
    let error = #expect(throws: StoreError.self) {
      try fixture.save(RowChange(.insert, id, row: try fixture.row("Person"), base: nil))
    }
    #expect(error?.code == .constraint)
    #expect(try fixture.stored(id)?.text(try fixture.slot("Person", "name")) == "first")
  }

  @Test("stores batches, whose rows read as any others and can be changed", arguments: StoreKind.allCases)
  func batches(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    let batch = try fixture.batch(1_000)
    let early = batch.row(at: 3)
    let result = try fixture.store.save(StoreSaveRequest([ChangeSet([], batches: [batch])]))
    #expect(result.conflicts.isEmpty)
    #expect(early.version == 1)
    #expect(batch.row(at: 4).version == 1)
    let (name, age, score) = (
      try fixture.slot("Person", "name"), try fixture.slot("Person", "age"), try fixture.slot("Person", "score")
    )
    let ids = (0..<1_000).map(batch.id(at:))
    let rows = try fixture.store.read { try $0.rows(for: ids).map { $0?.row } }
    for (index, row) in rows.enumerated() {
      let row = try #require(row)
      #expect(row.text(name) == "Näme \(index)")
      #expect(row.isNull(age) == (index % 10 == 9))
      if index % 10 != 9 { #expect(row.integer(age) == Int64(index)) }
      #expect(row.real(score) == Double(index) / 2)
      #expect(row.isNull(try fixture.slot("Person", "photo")))
    }
    let change = try fixture.update(ids[5], try #require(rows[5]), "Person", ["age": 77])
    #expect(try fixture.save(change).conflicts.isEmpty)
    #expect(try fixture.stored(ids[5])?.integer(age) == 77)
  }

  @Test("finds many rows in the order asked for, nil where there is none", arguments: StoreKind.allCases)
  func manyRows(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    let batch = try fixture.batch(700)
    _ = try fixture.store.save(StoreSaveRequest([ChangeSet([], batches: [batch])]))
    let missing = try fixture.newID("Person")
    let ids = [batch.id(at: 699), missing, batch.id(at: 0), batch.id(at: 0)] + (1..<600).map(batch.id(at:))
    let rows = try fixture.store.read { try $0.rows(for: ids).map { $0?.row } }
    let name = try fixture.slot("Person", "name")
    #expect(rows.count == ids.count)
    #expect(rows[0]?.text(name) == "Näme 699")
    #expect(rows[1] == nil)
    #expect(rows[2]?.text(name) == "Näme 0")
    #expect(rows[3]?.text(name) == "Näme 0")
    #expect(rows[602]?.text(name) == "Näme 599")
    #expect(try fixture.store.read { try $0.rows(for: []) }.isEmpty)
  }

  @Test("tells the entity of each row and destination in a hierarchy", arguments: StoreKind.allCases)
  func hierarchy(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    let (dog, _) = try fixture.insert("Dog", ["name": "Rex", "tricks": 3])
    let (cat, _) = try fixture.insert("Cat", ["name": "Tom", "lives": 9])
    #expect(dog.key != cat.key)
    let rows = try fixture.store.read { try $0.rows(for: [dog, cat]).map { $0?.row } }
    #expect(rows[0]?.entityIndex == UInt16(try fixture.entity("Dog").index))
    #expect(rows[1]?.entityIndex == UInt16(try fixture.entity("Cat").index))
    #expect(rows[1]?.integer(try fixture.slot("Cat", "lives")) == 9)
    // By the ID that a relationship to the root makes.
    let asAnimal = ManagedObjectID(key: cat.key, entity: try fixture.entity("Animal"), coordinatorOrdinal: 7)
    #expect(try fixture.stored(asAnimal)?.entityIndex == UInt16(try fixture.entity("Cat").index))
    let (owner, _) = try fixture.insert("Person", ["pet": cat])
    let pet = try fixture.stored(owner)?.reference(try fixture.slot("Person", "pet"))
    #expect(pet == cat)
    #expect(pet?.entityIndex == UInt16(try fixture.entity("Cat").index))
  }

  @Test("shows a reader one state, whatever is saved meanwhile", arguments: StoreKind.allCases)
  func snapshots(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    let (id, row) = try fixture.insert("Person", ["name": "before"])
    let name = try fixture.slot("Person", "name")
    let other = try fixture.newID("Person")
    try fixture.store.read { reader in
      _ = try fixture.save(
        try fixture.update(id, row, "Person", ["name": "after"]),
        RowChange(.insert, other, row: try fixture.row("Person"), base: nil))
      #expect(try reader.row(for: id)?.row.text(name) == "before")
      #expect(try reader.row(for: other) == nil)
      #expect(try fixture.stored(id)?.text(name) == "after")
      #expect(try reader.rows(for: [id, other])[0]?.version == 1)
    }
    #expect(try fixture.stored(id)?.text(name) == "after")
    #expect(try fixture.stored(other) != nil)
  }

  @Test("lets many threads read while one saves", arguments: StoreKind.allCases)
  func concurrentReaders(kind: StoreKind) async throws {
    let fixture = try StoreFixture(kind)
    let store = fixture.store
    let (id, row) = try fixture.insert("Person", ["age": 0])
    let age = try fixture.slot("Person", "age")
    let last = try await withThrowingTaskGroup(of: Int64.self) { group in
      for _ in 0..<4 {
        group.addTask {
          var seen: Int64 = 0
          for _ in 0..<200 {
            let now = try store.read { try $0.row(for: id)?.row.integer(age) } ?? -1
            #expect(now >= seen)
            seen = now
          }
          return seen
        }
      }
      var base = row
      for number in 1...50 {
        let change = try fixture.update(id, base, "Person", ["age": number])
        #expect(try fixture.save(change).conflicts.isEmpty)
        base = try #require(change.row)
      }
      return try await group.reduce(0) { max($0, $1) }
    }
    #expect(last <= 50)
    #expect(try fixture.stored(id)?.integer(age) == 50)
  }

  @Test("ignores objects that came and went between two saves", arguments: StoreKind.allCases)
  func forgotten(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    let id = try fixture.newID("Person")
    #expect(try fixture.save(RowChange(.forget, id, row: nil, base: nil)).conflicts.isEmpty)
    #expect(try fixture.stored(id) == nil)
  }

  @Test("refuses everything once it is closed, and closes twice", arguments: StoreKind.allCases)
  func closing(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    let (id, _) = try fixture.insert("Person")
    try fixture.store.close()
    try fixture.store.close()
    let person = try fixture.entity("Person")
    #expect(throws: StoreError.self) { try fixture.stored(id) }
    #expect(throws: StoreError.self) { try fixture.save() }
    let error = #expect(throws: StoreError.self) {
      try fixture.store.reserveKeys(KeyReservation(root: person, count: 1))
    }
    #expect(error?.code == .noStore)
  }
}
