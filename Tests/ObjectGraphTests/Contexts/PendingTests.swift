import Testing

@testable import ObjectGraph

@Suite("Pending changes as values")
struct PendingTests {
  private let coordinator = PersistentStoreCoordinator(model: People.model)

  private var layouts: [RowLayout] { coordinator.layouts }

  private func person() throws -> Entity { try #require(People.model.entitiesByName["Person"]) }

  private func id(_ key: Int64) throws -> ManagedObjectID {
    ManagedObjectID(key: key, entity: try person(), coordinatorOrdinal: coordinator.ordinal)
  }

  private func row(age: Int64, name: String? = nil) throws -> Row {
    var row = Row(layouts[try person().index])
    row.setInteger(age, try #require(try person().property(named: "age")).slot)
    if let name { row.setText(name, try #require(try person().property(named: "firstName")).slot) }
    return row
  }

  @Test("Two changes of one object become one, as the table says; the delete is final", arguments: [true, false])
  func following(isBulk: Bool) throws {
    let (old, new) = (try row(age: 1), try row(age: 2))
    let id = try id(1)
    let changes: [String: RowChange] = [
      "insert": RowChange(.insert, id, row: old, base: nil), "update": RowChange(.update, id, row: new, base: old),
      "delete": RowChange(.delete, id, row: nil, base: old),
    ]
    let expected: [(String, String, RowChange.Kind?)] = [
      ("insert", "update", .insert), ("insert", "delete", nil), ("update", "update", .update),
      ("update", "delete", .delete), ("delete", "update", .delete), ("delete", "delete", .delete),
    ]
    for (first, second, kind) in expected where !isBulk || first == "insert" {
      var pending = Pending()
      var set = [try #require(changes[first])]
      if isBulk {
        for key in 2...300 { set.append(RowChange(.insert, try self.id(Int64(key)), row: old, base: nil)) }
      }
      pending.absorb(ChangeSet(set), layouts: layouts)
      pending.absorb(ChangeSet([try #require(changes[second])]), layouts: layouts)
      #expect(pending.change(of: id)?.kind == kind, "\(first), then \(second)")
      #expect(pending.hasValidState)
      #expect(pending.objectCount == set.count - (kind == nil ? 1 : 0))
      #expect(pending.sets().reduce(0) { $0 + $1.objectCount } == pending.objectCount)
      #expect(pending.isEmpty == (pending.objectCount == 0))
    }
  }

  @Test("Links of objects that were deleted before a save are no change, and none leads to an object that is gone")
  func links() throws {
    let (gone, kept) = (try id(1), try id(2))
    let insert = RowChange(.insert, gone, row: try row(age: 1), base: nil)
    for key in [LinkKey(table: 0, left: gone, right: kept), LinkKey(table: 0, left: kept, right: gone)] {
      let link = LinkChange(key, isPresent: true)
      var pending = Pending()
      pending.absorb(ChangeSet([insert], links: [link]), layouts: layouts)
      #expect(!pending.isEmpty)
      pending.absorb(ChangeSet([RowChange(.delete, gone, row: nil, base: insert.row)]), layouts: layouts)
      #expect(pending.isEmpty)
      let set = ChangeSet([], links: [link, LinkChange(LinkKey(table: 0, left: kept, right: kept), isPresent: true)])
      #expect(set.adapted(layouts) { $0 == gone }.set.links.map(\.key.left) == [kept])
      #expect(set.adapted(layouts) { $0 == gone }.set.links.map(\.key.right) == [kept])
    }
  }

  @Test("Changes of different properties that were made against the same row both count")
  func merging() throws {
    let base = try row(age: 1, name: "Ada")
    let id = try id(1)
    var pending = Pending()
    pending.absorb(ChangeSet([RowChange(.update, id, row: try row(age: 2, name: "Ada"), base: base)]), layouts: layouts)
    pending.absorb(ChangeSet([RowChange(.update, id, row: try row(age: 1, name: "Bea"), base: base)]), layouts: layouts)
    let merged = try #require(pending.change(of: id)?.row)
    #expect(merged.changedSlots(from: try row(age: 2, name: "Bea"), layout: layouts[try person().index]).isEmpty)
    #expect(pending.change(of: id)?.base?.isIdentical(to: base) == true)
  }

  @Test("A relinked object has a change and no values, until another change of it says more")
  func relinked() throws {
    let (id, other) = (try id(1), try id(2))
    let row = try row(age: 1)
    var pending = Pending()
    pending.absorb(ChangeSet([], relinked: [id, other]), layouts: layouts)
    #expect(pending.change(of: id) == nil && pending.isRelinked(id) && pending.objectCount == 2 && !pending.isEmpty)
    #expect(pending.sets().flatMap(\.relinked) == [id, other])
    let later = RowChange(.update, id, row: try self.row(age: 2), base: row)
    pending.absorb(ChangeSet([later], relinked: [other]), layouts: layouts)
    #expect(pending.change(of: id)?.kind == .update && !pending.isRelinked(id) && pending.objectCount == 2)
    // It says nothing of the values that are known here.
    pending.absorb(ChangeSet([], relinked: [id]), layouts: layouts)
    #expect(!pending.isRelinked(id) && pending.objectCount == 2)
    pending.absorb(ChangeSet([RowChange(.delete, other, row: nil, base: row)]), layouts: layouts)
    pending.absorb(ChangeSet([], relinked: [other]), layouts: layouts)
    #expect(pending.change(of: other)?.kind == .delete && !pending.isRelinked(other) && pending.hasValidState)
    pending.remove(id)
    pending.absorb(ChangeSet([], relinked: [id]), layouts: layouts)
    pending.remove(id)
    #expect(pending.sets().flatMap(\.relinked).isEmpty && pending.objectCount == 1 && pending.hasValidState)
    #expect(ChangeSet([], relinked: [id, other]).adapted(layouts) { $0 == id }.set.relinked == [other])
  }

  @Test("Removing a change leaves the next level's values, however often it is made and removed")
  func removing() throws {
    let base = try row(age: 1)
    let id = try id(1)
    var pending = Pending()
    for age in 0..<100 {
      pending.absorb(ChangeSet([RowChange(.update, id, row: try row(age: Int64(age)), base: base)]), layouts: layouts)
      #expect(pending.change(of: id)?.kind == .update)
      pending.remove(id)
      #expect(pending.change(of: id) == nil && pending.isEmpty && pending.hasValidState)
    }
    #expect(pending.changes.count < 20)
  }

  @Test("A delete of what is just being inserted hides it from readers, and is saved as a delete")
  func deleteInFlight() throws {
    let changes = PendingChanges(coordinator)
    let row = try row(age: 1)
    let id = try id(1)
    changes.append(ChangeSet([RowChange(.insert, id, row: row, base: nil)]))
    _ = changes.beginSave()
    _ = changes.adopt([ChangeSet([RowChange(.delete, id, row: nil, base: row)])])
    #expect(changes.visibleChange(of: id)?.kind == .delete)
    #expect(changes.currentChange(of: id) == nil)
    _ = changes.drainNews()
    #expect(changes.currentChange(of: id)?.kind == .delete)
    changes.abortSave()
    #expect(changes.currentChange(of: id) == nil && changes.isEmpty)
  }
}
