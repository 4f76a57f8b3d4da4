import Foundation
import ObjectGraph
import Testing

extension StoreConformance {
  @Test(
    "writes in several steps, reads what it wrote, and shows it to others at the end", arguments: StoreKind.allCases)
  func transaction(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    let store = fixture.store
    let (old, oldRow) = try fixture.insert("Person", ["name": "old"])
    let person = try fixture.entity("Person")
    let name = try fixture.slot("Person", "name")
    let id = try store.transaction(from: TransactionOrigin()) { transaction in
      let key = try transaction.reserveKeys(KeyReservation(root: person, count: 1)).lowerBound
      let id = ManagedObjectID(key: key, entity: person, coordinatorOrdinal: StoreFixture.ordinal)
      let insert = RowChange(.insert, id, row: try fixture.row("Person", ["name": "new"]), base: nil)
      #expect(try transaction.write(ChangeSet([insert])).isEmpty)
      let written = try #require(try transaction.row(for: id)?.row)
      #expect(written.version == 1)
      let update = try fixture.update(id, written, "Person", ["name": "newer"])
      #expect(try transaction.write(ChangeSet([update])).isEmpty)
      #expect(try transaction.rows(for: [old, id]).map { $0?.row.text(name) } == ["old", "newer"])
      #expect(try transaction.count(StoreQuery(entity: person, coordinatorOrdinal: StoreFixture.ordinal)) == 2)
      // Others see the state before.
      #expect(try store.read { try $0.row(for: id) } == nil)
      return id
    }
    #expect(try fixture.stored(id)?.text(name) == "newer")
    #expect(try fixture.stored(id)?.version == 2)
    #expect(oldRow.version == 1)
    #expect(try fixture.newID("Person").key > id.key)
  }

  @Test("undoes a transaction whose body throws", arguments: StoreKind.allCases)
  func undoneTransaction(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    let (old, oldRow) = try fixture.insert("Person", ["name": "old"])
    #expect(throws: CancellationError.self) {
      try fixture.store.transaction(from: TransactionOrigin()) { transaction in
        _ = try transaction.reserveKeys(KeyReservation(root: try fixture.entity("Person"), count: 10))
        _ = try transaction.write(ChangeSet([RowChange(.delete, old, row: nil, base: oldRow)]))
        #expect(try transaction.row(for: old) == nil)
        throw CancellationError()
      }
    }
    #expect(try fixture.stored(old) != nil)
    // Where several hosts draw keys, those of an undone transaction are a gap.
    let next = try fixture.newID("Person").key
    #expect(kind.isPostgres ? next > old.key : next == old.key + 1)
  }

  @Test("takes back one step that meets conflicts or a violation, and goes on", arguments: StoreKind.allCases)
  func failedStep(kind: StoreKind) throws {
    let fixture = try StoreFixture(kind)
    let (old, oldRow) = try fixture.insert("Person", ["email": "a@example.org"])
    let (first, second) = (try fixture.newID("Person"), try fixture.newID("Person"))
    _ = try fixture.save(try fixture.update(old, oldRow, "Person", ["age": 1]))
    try fixture.store.transaction(from: TransactionOrigin()) { transaction in
      let fine = RowChange(.insert, first, row: try fixture.row("Person", ["email": "b@example.org"]), base: nil)
      let stale = RowChange(.delete, old, row: nil, base: oldRow)
      #expect(try transaction.write(ChangeSet([fine, stale])).map(\.change.id) == [old])
      #expect(try transaction.row(for: first) == nil)
      #expect(try transaction.write(ChangeSet([fine])).isEmpty)
      let clash = RowChange(.insert, second, row: try fixture.row("Person", ["email": "b@example.org"]), base: nil)
      let error = #expect(throws: StoreError.self) { try transaction.write(ChangeSet([clash])) }
      #expect(error?.code == .constraint)
    }
    #expect(try fixture.stored(first) != nil)
    #expect(try fixture.stored(second) == nil)
    #expect(try fixture.stored(old) != nil)
  }
}
