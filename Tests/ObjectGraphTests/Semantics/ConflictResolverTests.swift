import Testing

@testable import ObjectGraph

/// The rules by which conflicts are resolved, without a store and without contexts.
@Suite("Conflicts: the rules")
struct ConflictResolverTests {
  private let coordinator = PersistentStoreCoordinator(model: Zoo.model)

  private static let yielding: [MergePolicy] = [
    .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback,
  ]

  // MARK: Rows and changes

  private func entity(_ name: String) throws -> Entity { try #require(Zoo.model.entitiesByName[name]) }

  private func id(_ name: String, _ key: Int64) throws -> ManagedObjectID {
    ManagedObjectID(key: key, entity: try entity(name), coordinatorOrdinal: coordinator.ordinal)
  }

  private func slot(_ property: String, _ entityName: String) throws -> Int {
    try #require(try entity(entityName).property(named: property)).slot
  }

  /// A dog's row under a version.
  private func dog(
    _ name: String, breed: String? = nil, version: Int64 = 0, keeper: ManagedObjectID? = nil,
    cage: ManagedObjectID? = nil
  ) throws -> Row {
    var row = Row(coordinator.layouts[try entity("Dog").index])
    row.setText(name, try slot("name", "Dog"))
    if let breed { row.setText(breed, try slot("breed", "Dog")) }
    if let keeper { row.setReference(keeper, try slot("keeper", "Dog")) }
    if let cage { row.setReference(cage, try slot("cage", "Dog")) }
    if version > 0 { row.stamp(version: version) }
    return row
  }

  private func text(_ row: Row?) throws -> String? {
    guard let row else { return nil }
    func value(_ property: String) throws -> String {
      let slot = try slot(property, "Dog")
      return row.isNull(slot) ? "-" : row.text(slot)
    }
    return "\(try value("name")) \(try value("breed"))"
  }

  /// The row as a store would return it.
  private func stored(_ row: Row, of id: ManagedObjectID) throws -> StoredRow {
    var before = row
    before.setNull(0)
    before.stamp(version: row.version - 1)
    var found: StoredRow?
    CommittedRows([ChangeSet([RowChange(.update, id, row: row, base: before)])]).forEachChange { found = $1 }
    return try #require(found)
  }

  /// A resolver for some changes, as a root context would save them.
  private func resolver(
    _ policy: MergePolicy, _ changes: [RowChange], links: [LinkChange] = [], checks: [RowChange] = []
  ) -> ConflictResolver {
    ConflictResolver(
      coordinator, policy: policy, root: 1, sets: [ChangeSet(changes, links: links)], checks: checks)
  }

  private func resolve(_ resolver: inout ConflictResolver, _ conflicts: [StoreConflict]) throws {
    try resolver.resolve(conflicts) { _ in .contextAgainstRowCache }
  }

  // MARK: Versions

  @Test("Where both sides changed an object, the policy decides property by property, or for all")
  func bothChanged() throws {
    let rex = try id("Dog", 1)
    let base = try dog("Rex", breed: "pug", version: 1)
    let theirs = try stored(try dog("Max", breed: "pug", version: 2), of: rex)
    let cases: [(MergePolicy, mine: Row, expected: String?)] = [
      (.mergeByPropertyStoreTrump, try dog("Tom", breed: "boxer"), "Max boxer"),
      (.mergeByPropertyObjectTrump, try dog("Tom", breed: "pug"), "Tom pug"),
      (.mergeByPropertyObjectTrump, try dog("Rex", breed: "boxer"), "Max boxer"),
      (.overwrite, try dog("Rex", breed: "boxer"), "Rex boxer"),
      (.rollback, try dog("Tom", breed: "boxer"), nil),
      (.custom { _ in .values(["breed": "poodle"]) }, try dog("Tom"), "Max poodle"),
      // Nothing of its own is left to write.
      (.mergeByPropertyStoreTrump, try dog("Tom", breed: "pug"), nil),
    ]
    for (policy, mine, expected) in cases {
      let change = RowChange(.update, rex, row: mine, base: base)
      var resolver = resolver(policy, [change])
      try resolve(&resolver, [StoreConflict(change, stored: theirs)])
      let written = resolver.setsToWrite().flatMap(\.changes)
      #expect(try text(written.first?.row) == expected, "\(policy)")
      // It must meet the version that the conflict has shown.
      #expect(written.allSatisfy { $0.base?.version == 2 })
      let outcome = resolver.draft.finalOutcome(of: [ChangeSet([change])])
      #expect(outcome.rewritten.count == (expected == nil ? 0 : 1) && outcome.survivors == [rex])
    }
  }

  @Test("Where others deleted what was changed, and where they changed what was deleted", arguments: yielding)
  func deletes(policy: MergePolicy) throws {
    let (rex, tom) = (try id("Dog", 1), try id("Dog", 2))
    let base = try dog("Rex", version: 1)
    let update = RowChange(.update, rex, row: try dog("Max"), base: base)
    let delete = RowChange(.delete, tom, row: nil, base: base)
    var resolver = resolver(policy, [update, delete])
    let theirs = try stored(try dog("Tom", version: 2), of: tom)
    try resolve(&resolver, [StoreConflict(update, stored: nil), StoreConflict(delete, stored: theirs)])
    let prevails = policy.description == "overwrite" || policy.description.hasSuffix("object trump")
    let written = resolver.setsToWrite().flatMap(\.changes)
    #expect(written.map(\.kind) == (prevails ? [.insert, .delete] : []))
    #expect(try text(written.first?.row) == (prevails ? "Max -" : nil))
    let outcome = resolver.draft.finalOutcome(of: [])
    #expect(outcome.dropped.mapValues { $0?.version } == (prevails ? [:] : [rex: nil, tom: 2]))
    #expect(outcome.survivors == (prevails ? [rex] : [tom]))
  }

  @Test("A policy that resolves nothing names all conflicts, and leaves the changes as they are")
  func errors() throws {
    let changes = try (1...2).map { key in
      RowChange(.update, try id("Dog", key), row: try dog("Max"), base: try dog("Rex", version: 1))
    }
    var resolver = resolver(.error, changes)
    let error = #expect(throws: SaveConflicts.self) {
      try resolve(&resolver, changes.map { StoreConflict($0, stored: nil) })
    }
    #expect(error?.conflicts.map(\.objectID) == changes.map(\.id))
    let written = resolver.setsToWrite().flatMap(\.changes)
    #expect(written.count == 2)
  }

  @Test("What the own stack stored in between is no conflict, whatever the policy")
  func ownStack() throws {
    let rex = try id("Dog", 1)
    // The base was pending, and was stored since as it was.
    let change = RowChange(.update, rex, row: try dog("Rex", breed: "pug"), base: try dog("Rex"))
    var resolver = resolver(.error, [change])
    try resolve(&resolver, [StoreConflict(change, stored: try stored(try dog("Max", version: 1), of: rex))])
    let written = resolver.setsToWrite().flatMap(\.changes)
    #expect(try text(written.first?.row) == "Max pug" && written.first?.base?.version == 1)
  }

  @Test("A row that was only to be checked is never written, whatever the policy makes of the conflict")
  func checks() throws {
    let rex = try id("Dog", 1)
    let row = try dog("Rex", version: 1)
    let check = RowChange(.update, rex, row: row, base: row)
    for policy in Self.yielding {
      var resolver = resolver(policy, [], checks: [check])
      try resolve(&resolver, [StoreConflict(check, stored: try stored(try dog("Max", version: 2), of: rex))])
      let written = resolver.setsToWrite().flatMap(\.changes)
      #expect(written.isEmpty && !resolver.hasChecks)
    }
    var strict = resolver(.error, [], checks: [check])
    #expect(throws: SaveConflicts.self) { try resolve(&strict, [StoreConflict(check, stored: nil)]) }
  }

  // MARK: Missing destinations

  @Test("References and links to what others have deleted go, and the rest is written", arguments: yielding)
  func missingDestination(policy: MergePolicy) throws {
    let (ada, cage) = (try id("Keeper", 1), try id("Cage", 1))
    let insert = RowChange(.insert, try id("Dog", 1), row: try dog("Rex", keeper: ada, cage: cage), base: nil)
    let friends = try #require(try entity("Keeper").property(named: "friends")?.joinTable)
    func link(_ left: Int64, _ right: Int64) throws -> LinkChange {
      LinkChange(
        LinkKey(table: friends.index, left: try id("Keeper", left), right: try id("Keeper", right)), isPresent: true)
    }
    let kept = try link(2, 3)
    var resolver = resolver(policy, [insert], links: [try link(1, 2), kept, try link(3, 1)])
    try resolve(&resolver, [StoreConflict(missingDestination: ada)])
    let sets = resolver.setsToWrite()
    let row = try #require(sets.flatMap(\.changes).first?.row)
    #expect(try row.isNull(slot("keeper", "Dog")) && row.referenceIfPresent(slot("cage", "Dog")) == cage)
    #expect(sets.flatMap(\.links).map(\.key) == [kept.key])
    #expect(resolver.draft.finalOutcome(of: []).rewritten.map(\.id) == [insert.id])
  }

  @Test("A change that gives way stays dropped, though it led to something else that is gone")
  func droppedAndMissing() throws {
    let (rex, ada) = (try id("Dog", 1), try id("Keeper", 1))
    let change = RowChange(.update, rex, row: try dog("Rex", keeper: ada), base: try dog("Rex", version: 1))
    var resolver = resolver(.rollback, [change])
    try resolve(&resolver, [StoreConflict(change, stored: nil), StoreConflict(missingDestination: ada)])
    let written = resolver.setsToWrite().flatMap(\.changes)
    #expect(written.isEmpty)
    let outcome = resolver.draft.finalOutcome(of: [ChangeSet([change])])
    #expect(outcome.rewritten.isEmpty && outcome.survivors.isEmpty)
    #expect(Set(outcome.dropped.keys) == [rex, ada])
  }

  @Test("A change that is rewritten leads to nothing that is gone")
  func rewrittenAndMissing() throws {
    let (rex, ada) = (try id("Dog", 1), try id("Keeper", 1))
    let change = RowChange(.update, rex, row: try dog("Rex", keeper: ada), base: try dog("Rex", version: 1))
    var resolver = resolver(.overwrite, [change])
    let theirs = try stored(try dog("Max", version: 2), of: rex)
    try resolve(&resolver, [StoreConflict(change, stored: theirs), StoreConflict(missingDestination: ada)])
    let written = try #require(resolver.setsToWrite().flatMap(\.changes).first)
    let slot = try slot("keeper", "Dog")
    #expect(written.row?.isNull(slot) == true && written.base?.version == 2)
    let rewritten = resolver.draft.finalOutcome(of: []).rewritten
    #expect(rewritten.count == 1 && rewritten[0].row?.isNull(slot) == true)
  }

  // MARK: Delete rules

  /// The change of an object that others have related to a deleted one, once its rules have been applied.
  private func ruled(_ name: String, _ row: Row, deleted: ManagedObjectID, isNew: Bool = false) throws -> [RowChange] {
    let other = try id(name, 9)
    let delete = RowChange(.delete, deleted, row: nil, base: Row(coordinator.layouts[Int(deleted.entityIndex)]))
    var resolver = resolver(.error, isNew ? [delete, RowChange(.insert, other, row: row, base: nil)] : [delete])
    let theirs = isNew ? nil : try stored(row, of: other)
    try resolver.applyDeleteRules([StoreConflict(leadingToDeleted: other, stored: theirs)])
    return resolver.setsToWrite().flatMap(\.changes).filter { $0.id == other }
  }

  @Test("What others have related to a deleted object obeys the rules of the delete")
  func deleteRules() throws {
    let (ada, cage) = (try id("Keeper", 1), try id("Cage", 1))
    let nullified = try ruled("Dog", try dog("Rex", version: 1, keeper: ada), deleted: ada)
    #expect(nullified.map(\.kind) == [.update])
    let keeper = try slot("keeper", "Dog")
    #expect(nullified.first?.row?.isNull(keeper) == true && nullified.first?.base?.version == 1)
    let denied = #expect(throws: ValidationError.self) {
      try ruled("Dog", try dog("Rex", version: 1, cage: cage), deleted: cage)
    }
    #expect(denied?.objectID == cage)
    var shift = Row(coordinator.layouts[try entity("Shift").index])
    shift.setReference(ada, try slot("keeper", "Shift"))
    #expect(try ruled("Shift", shift, deleted: ada, isNew: true).isEmpty)
    shift.stamp(version: 1)
    #expect(try ruled("Shift", shift, deleted: ada).map(\.kind) == [.delete])
  }
}
