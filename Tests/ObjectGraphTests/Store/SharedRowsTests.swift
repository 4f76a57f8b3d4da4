import Synchronization
import Testing

@testable import ObjectGraph

@Suite("The rows that contexts share, without contexts")
struct SharedRowsTests {
  private let model = People.model
  private let clock = Clock()

  private final class Clock: Sendable {
    let time = Mutex(Duration.zero)
  }

  private func rows() -> SharedRows {
    SharedRows(byteLimit: 1 << 20, transientSlots: model.entities.map { _ in [] }) { [clock] in
      clock.time.withLock { $0 }
    }
  }

  private func person() throws -> Entity { try #require(model.entitiesByName["Person"]) }

  private func id(_ key: Int64) throws -> ManagedObjectID {
    ManagedObjectID(key: key, entity: try person(), coordinatorOrdinal: 0)
  }

  /// A row as a reader of a store makes it.
  private func read(version: Int64) throws -> StoredRow {
    RowFiller(RowLayout(try person()), tailCapacity: 0).finish(version: version)
  }

  private func change(_ kind: RowChange.Kind, _ id: ManagedObjectID, version: Int64) throws -> RowChange {
    let base = try read(version: version - 1).row
    guard kind != .delete else { return RowChange(kind, id, row: nil, base: base) }
    var row = base
    row.setInteger(version, try #require(try person().property(named: "age")).slot)
    return RowChange(kind, id, row: row, base: base)
  }

  private func saved(_ changes: RowChange...) -> StoreSaveResult {
    StoreSaveResult(CommittedRows([ChangeSet(changes)]))
  }

  @Test("What was read is kept, unless a save has changed it after the read began")
  func overtaken() throws {
    let (shared, ada, bob) = (rows(), try id(1), try id(2))
    let early = shared.readStart
    shared.keep([(ada, try read(version: 1))], early)
    #expect(shared.row(for: ada)?.version == 1)
    shared.apply(saved(try change(.update, ada, version: 2)), returns: [])
    #expect(shared.row(for: ada)?.version == 2)
    shared.keep([(ada, try read(version: 1)), (bob, try read(version: 1))], early)
    #expect(shared.row(for: ada)?.version == 2)
    #expect(shared.row(for: bob)?.version == 1)
    shared.apply(saved(try change(.delete, bob, version: 2)), returns: [])
    shared.apply(saved(try change(.update, ada, version: 3)), returns: [])
    shared.keep([(bob, try read(version: 1))], early)
    #expect(shared.row(for: bob) == nil)
  }

  @Test("What was read while others' derived values were computed is not kept")
  func derived() throws {
    let (shared, ada) = (rows(), try id(1))
    let slot = try #require(try person().property(named: "age")).slot
    let early = shared.readStart
    shared.apply(
      StoreSaveResult(
        CommittedRows([ChangeSet([try change(.update, try id(2), version: 2)])]),
        derived: [DerivedValue(id: ada, slot: slot, value: .integer(7))]), returns: [])
    shared.keep([(ada, try read(version: 1))], early)
    #expect(shared.row(for: ada) == nil)
  }

  @Test("After a save of very many objects nothing that was being read is kept")
  func manyChanges() throws {
    let (shared, ada) = (rows(), try id(1))
    let early = shared.readStart
    let changes = try (2...10_000).map { try change(.update, try id($0), version: 2) }
    shared.apply(StoreSaveResult(CommittedRows([ChangeSet(changes)])), returns: [])
    shared.keep([(ada, try read(version: 1))], early)
    #expect(shared.row(for: ada) == nil)
    shared.keep([(ada, try read(version: 1))], shared.readStart)
    #expect(shared.row(for: ada) != nil)
  }

  @Test("Any save lets go of what relationships lead to, and of lists that were being read")
  func destinations() throws {
    let (shared, ada) = (rows(), try id(1))
    let department = try #require(model.entitiesByName["Department"])
    let employees = try #require(department.property(named: "employees"))
    let owner = ManagedObjectID(key: 1, entity: department, coordinatorOrdinal: 0)
    let early = shared.readStart
    shared.keep([ada], asDestinationsOf: owner, property: employees, start: early)
    #expect(shared.destinations(of: owner, employees, since: .beginning) == [ada])
    shared.apply(saved(try change(.update, try id(7), version: 2)), returns: [])
    #expect(shared.destinations(of: owner, employees, since: .beginning) == nil)
    shared.keep([ada], asDestinationsOf: owner, property: employees, start: early)
    #expect(shared.destinations(of: owner, employees, since: .beginning) == nil)
  }

  @Test("A row is as old as the read that brought it, or as its save")
  func age() throws {
    let (shared, ada, bob) = (rows(), try id(1), try id(2))
    let start = shared.readStart
    clock.time.withLock { $0 = .seconds(10) }
    shared.keep([(ada, try read(version: 1))], start)
    #expect(shared.row(for: ada, since: shared.now) == nil)
    #expect(shared.row(for: ada, since: shared.now.before(seconds: 10)) != nil)
    shared.apply(saved(try change(.update, bob, version: 2)), returns: [])
    #expect(shared.row(for: bob, since: shared.now) != nil)
  }

  @Test("A deleted object has departed until one with its ID is stored again")
  func departed() throws {
    let (shared, ada) = (rows(), try id(1))
    shared.keep([(ada, try read(version: 1))], shared.readStart)
    shared.apply(saved(try change(.delete, ada, version: 2)), returns: [])
    #expect(shared.row(for: ada) == nil)
    #expect(shared.hasDeparted(ada) && shared.hasEverDeparted(ada) && !shared.hasReturned(ada))
    let again = try change(.insert, ada, version: 3)
    shared.apply(saved(again), returns: [again])
    #expect(!shared.hasDeparted(ada) && shared.hasEverDeparted(ada) && shared.hasReturned(ada))
    shared.apply(saved(try change(.delete, ada, version: 4)), returns: [])
    #expect(shared.hasDeparted(ada) && !shared.hasReturned(ada))
  }

  @Test("A change to an older version than is kept is a conflict, and so is a check")
  func conflicts() throws {
    let (shared, ada, bob) = (rows(), try id(1), try id(2))
    shared.keep([(ada, try read(version: 2)), (bob, try read(version: 1))], shared.readStart)
    let (stale, current) = (try change(.update, ada, version: 2), try change(.update, bob, version: 2))
    let found = shared.conflicts(with: [ChangeSet([stale, current])], [])
    #expect(found.map(\.change.id) == [ada])
    #expect(found.first?.stored?.version == 2)
    #expect(shared.conflicts(with: [], [current, stale]).map(\.change.id) == [ada])
    // What a conflict has shown to be stored, or gone, is so for all.
    shared.keep(
      [StoreConflict(stale, stored: try read(version: 5)), StoreConflict(current, stored: nil)], shared.readStart)
    #expect(shared.row(for: ada)?.version == 5)
    #expect(shared.row(for: bob) == nil)
  }

  @Test("Rows that others have changed are forgotten by ID, by family or all together, also while they are read")
  func forgetting() throws {
    let (shared, ada, bob) = (rows(), try id(1), try id(2))
    let root = try person().rootIndex
    func fill() throws {
      shared.keep([(ada, try read(version: 1)), (bob, try read(version: 1))], shared.readStart)
      #expect(shared.all.count == 2)
    }
    func left(after forget: () -> Void) throws -> Set<ManagedObjectID> {
      try fill()
      let start = shared.readStart
      forget()
      let left = Set(shared.all.keys)
      shared.keep([(ada, try read(version: 1)), (bob, try read(version: 1))], start)
      #expect(Set(shared.all.keys) == left)
      return left
    }
    #expect(try left { shared.forget([ada]) } == [bob])
    #expect(try left { shared.forget(stale: [ada]) } == [bob])
    #expect(try left { shared.forget(stale: [], roots: [root]) } == [])
    #expect(try left { shared.forget(stale: nil) } == [])
    #expect(try left { shared.forgetAll() } == [])
  }
}
