import Foundation
import ObjectGraph
import Testing

extension StoreConformance {
  /// Rows of Person with a name, an email address and an age.
  private func batch(_ fixture: StoreFixture, _ rows: [(name: String, email: String?, age: Int64)]) throws -> RowBatch {
    let person = try fixture.entity("Person")
    func texts(_ texts: [String?], _ name: String) throws -> RowBatch.Column {
      let arena = ByteArena(capacity: 64)
      var offsets: [UInt32] = [0]
      var nulls = [UInt64](repeating: 0, count: (texts.count + 63) / 64)
      for (row, text) in texts.enumerated() {
        var text = text ?? ""
        if texts[row] == nil { nulls[row >> 6] |= 1 << UInt64(row & 63) }
        text.withUTF8 { arena.append(UnsafeRawBufferPointer($0)) }
        offsets.append(UInt32(arena.count))
      }
      return RowBatch.Column(
        slot: try fixture.slot("Person", name), values: .bytes(offsets: offsets, arena: arena), nullBits: nulls)
    }
    let columns = [
      try texts(rows.map(\.name), "name"), try texts(rows.map(\.email), "email"),
      RowBatch.Column(slot: try fixture.slot("Person", "age"), values: .integers(rows.map(\.age))),
    ].sorted { $0.slot < $1.slot }
    let keys = try fixture.store.reserveKeys(KeyReservation(root: person, count: rows.count))
    return RowBatch(
      entity: person, layout: RowLayout(person), coordinatorOrdinal: StoreFixture.ordinal, firstKey: keys.lowerBound,
      count: rows.count, columns: columns)
  }

  private func write(
    _ fixture: StoreFixture, _ batch: RowBatch, by key: [String] = [], _ conflict: PackedConflict = .violation
  ) throws -> PackedResult {
    let properties = try key.map { try #require(batch.entity.property(named: $0)) }
    return try fixture.store.transaction(from: TransactionOrigin()) {
      try $0.write(batch, key: properties, onConflict: conflict)
    }
  }

  @Test("leaves packed rows out one by one whose unique values are taken", arguments: StoreKind.allCases)
  func packedViolation(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    try fixture.insert("Person", ["email": "a@example.org"])
    let batch = try batch(fixture, [("b", "b@example.org", 1), ("a", "a@example.org", 2), ("b2", "b@example.org", 3)])
    let result = try write(fixture, batch)
    #expect(result.outcomes == [.inserted, .violated, .violated])
    #expect(result.violations.map(\.row) == [1, 2])
    #expect(result.violations.first?.message.contains("Person.email") == true)
    #expect(result.insertedKeys == batch.firstKey..<batch.firstKey + 1)
    #expect(try fixture.stored(batch.id(at: 0))?.version == 1)
    #expect(try fixture.stored(batch.id(at: 1)) == nil)
  }

  @Test("leaves out no other rows than the violated among many", arguments: StoreKind.allCases)
  func packedViolationAmongMany(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    var rows = (0..<350).map { (name: "\($0)", email: $0 % 3 == 0 ? nil : "\($0)@example.org", age: Int64($0)) }
    for row in [5, 120, 121, 349] { rows[row].email = "1@example.org" }
    let batch = try batch(fixture, rows)
    let result = try write(fixture, batch)
    #expect(result.violations.map(\.row) == [5, 120, 121, 349])
    #expect(result.insertedKeys == batch.firstKey..<batch.firstKey + 346)
    let (email, age) = (try fixture.slot("Person", "email"), try fixture.slot("Person", "age"))
    var place = 0
    for (index, row) in rows.enumerated() where ![5, 120, 121, 349].contains(index) {
      #expect(result.keys[index] == batch.id(at: place).key)
      let stored = try #require(try fixture.stored(batch.id(at: place)))
      place += 1
      #expect(stored.integer(age) == row.age)
      #expect(stored.isNull(email) ? row.email == nil : stored.text(email) == row.email)
    }
  }

  @Test("updates objects by a key, and finds what earlier rows have written", arguments: StoreKind.allCases)
  func packedUpdate(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    let (old, row) = try fixture.insert("Person", ["name": "old", "email": "a@example.org", "age": 1])
    let same = try fixture.insert("Person", ["name": "same", "email": "s@example.org", "age": 5]).0
    let batch = try batch(
      fixture,
      [
        ("new", "b@example.org", 1), ("changed", "a@example.org", 2), ("newer", "b@example.org", 3),
        ("same", "s@example.org", 5), ("nobody", nil, 6),
      ])
    let result = try write(fixture, batch, by: ["email"], .update)
    #expect(result.outcomes == [.inserted, .updated, .updated, .unchanged, .inserted])
    #expect(result.updates == [old, batch.id(at: 0)])
    let name = try fixture.slot("Person", "name")
    #expect(try fixture.stored(old)?.text(name) == "changed")
    #expect(try fixture.stored(old)?.version == row.version + 1)
    #expect(try fixture.stored(batch.id(at: 0))?.text(name) == "newer")
    #expect(try fixture.stored(same)?.version == 1)
    let found = try fixture.store.read {
      try $0.find(batch, key: [try #require(batch.entity.property(named: "email"))])
    }
    #expect(found == [batch.id(at: 0), old, batch.id(at: 0), same, nil])
  }

  @Test("passes over packed rows whose key is taken", arguments: StoreKind.allCases)
  func packedSkip(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    let old = try fixture.insert("Person", ["name": "old", "email": "a@example.org"]).0
    let batch = try batch(fixture, [("new", "a@example.org", 1), ("b", "b@example.org", 1), ("c", "b@example.org", 1)])
    let result = try write(fixture, batch, by: ["email"], .skip)
    #expect(result.outcomes == [.skipped, .inserted, .skipped])
    #expect(result.keys == [old.key, batch.firstKey, batch.firstKey])
    #expect(try fixture.stored(old)?.text(try fixture.slot("Person", "name")) == "old")
  }

  @Test("lets stored objects keep what packed rows have by default only", arguments: StoreKind.allCases)
  func packedDefaults(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    let old = try fixture.insert("Person", ["name": "old", "email": "a@example.org", "age": 40]).0
    let given = try batch(fixture, [("named", "a@example.org", 7), ("new", "n@example.org", 7)])
    let age = try fixture.slot("Person", "age")
    let batch = RowBatch(
      entity: given.entity, layout: given.layout, coordinatorOrdinal: given.coordinatorOrdinal,
      firstKey: given.firstKey, count: 2, columns: given.columns.map { $0.slot == age ? $0.asDefaults(count: 2) : $0 })
    let result = try write(fixture, batch, by: ["email"], .update)
    #expect(result.outcomes == [.updated, .inserted])
    #expect(try fixture.stored(old)?.integer(age) == 40)
    #expect(try fixture.stored(batch.id(at: 0))?.integer(age) == 7)
  }

  @Test("changes of stored objects what each packed row was given", arguments: StoreKind.allCases)
  func packedGiven(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    let ids = try ["a", "b", "c"].map {
      try fixture.insert("Person", ["name": "old", "email": "\($0)@example.org", "age": 40]).0
    }
    let given = try batch(
      fixture, [("new", "a@example.org", 1), ("new", "b@example.org", 2), ("new", "c@example.org", 3), ("new", "d", 4)])
    let (name, age) = (try fixture.slot("Person", "name"), try fixture.slot("Person", "age"))
    let columns = given.columns.map { column in
      let bits: [Int: UInt64] = [name: 0b1001, age: 0b0011]
      return RowBatch.Column(
        slot: column.slot, values: column.values, nullBits: column.nullBits,
        givenBits: bits[column.slot].map { [$0] } ?? [])
    }
    let batch = RowBatch(
      entity: given.entity, layout: given.layout, coordinatorOrdinal: given.coordinatorOrdinal,
      firstKey: given.firstKey, count: 4, columns: columns)
    let result = try write(fixture, batch, by: ["email"], .update)
    #expect(result.outcomes == [.updated, .updated, .unchanged, .inserted])
    let stored = try (ids + [batch.id(at: 0)]).map { try #require(try fixture.stored($0)) }
    #expect(stored.map { $0.text(name) } == ["new", "old", "old", "new"])
    #expect(stored.map { $0.integer(age) } == [1, 2, 40, 4])
  }
}
