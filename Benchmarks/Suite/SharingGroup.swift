import ObjectGraph

/// How long a context is occupied by what others have saved, and what a context costs.
///
/// Both contexts have all objects in memory with their values, which is the dearest case.
struct SharingGroup: BenchGroup {
  static let name = "sharing"

  private let options: Options
  private let workplace: Workplace
  private static let count = 10_000

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let store = try PeopleStore(in: workplace.emptyFolder("o"))
    try await store.fill(rows: Self.count, PersonValues())
    var (updates, inserts, objects, ids): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
    for _ in 0..<options.pairs {
      updates.append(try await saveFromChild(store) { for person in try $0.people() { person.age += 1 } })
      inserts.append(try await saveFromChild(store) { for _ in 0..<Self.count { _ = Person(context: $0) } })
      objects.append(try await merge(store) { $0.mergeChanges(fromContextDidSave: $1) })
      ids.append(
        try await merge(store) {
          $0.mergeChanges(fromRemoteContextSave: RemoteContextSave(updated: $1.updatedObjectIDs))
        })
    }
    try store.coordinator.close()
    return [
      figure("a child's save of \(Self.count) updates, parent occupied", updates, 5),
      figure("a child's save of \(Self.count) inserts, parent occupied", inserts, 5),
      figure("merging a save of \(Self.count) updates", objects, 20),
      figure("merging \(Self.count) IDs, rows read again", ids, 20),
    ]
  }

  private func figure(_ name: String, _ seconds: [Double], _ milliseconds: Double) -> Figure {
    Figure(
      name: "sharing: " + name, unit: "ms", ours: seconds.map { $0 * 1000 }, peer: [], peerName: "", measure: .ours,
      target: .atMost(milliseconds))
  }

  /// - Returns: the longest time that the parent was occupied, in seconds.
  private func saveFromChild(
    _ store: PeopleStore, _ change: @Sendable (isolated ManagedObjectContext) throws -> Void
  ) async throws -> Double {
    let occupation = OccupationRecorder()
    let parent = ManagedObjectContext(
      coordinator: store.coordinator, name: "parent",
      executor: ContextExecutor(label: "parent", occupation: occupation))
    try await parent.perform { context in
      context.retainsRegisteredObjects = true
      guard try context.people().count == Self.count else { throw BenchError("people are missing") }
    }
    let child = ManagedObjectContext(parent: parent, name: "child")
    occupation.reset()
    try await child.perform { context in
      try change(context)
      try context.save()
    }
    // Comes after what the save has queued on the parent's executor.
    await parent.perform { _ in }
    let longest = occupation.longest
    let changed = await parent.perform { $0.updatedObjects.count + $0.insertedObjects.count }
    guard changed == Self.count else { throw BenchError("the parent should have \(Self.count) changes") }
    return longest
  }

  /// - Returns: the seconds that a context takes to merge what its sibling has saved.
  private func merge(
    _ store: PeopleStore, _ merge: @Sendable (isolated ManagedObjectContext, ContextDidSave) -> Void
  ) async throws -> Double {
    let reader = ManagedObjectContext(coordinator: store.coordinator, name: "reader")
    let before = try await reader.perform { context in
      context.retainsRegisteredObjects = true
      return try context.people().reduce(0) { $0 + $1.age }
    }
    let editor = ManagedObjectContext(coordinator: store.coordinator, name: "editor")
    let events = editor.events()
    try await editor.perform { context in
      for person in try context.people() { person.age += 1 }
      try context.save()
    }
    for await event in events {
      guard case .didSave(let save) = event else { continue }
      return try await reader.perform { context in
        let start = ContinuousClock.now
        merge(context, save)
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        let after = context.registeredObjects.reduce(0) { $0 + (($1 as? Person)?.age ?? 0) }
        guard after == before + Int64(Self.count) else { throw BenchError("the merge should raise each age by 1") }
        return seconds
      }
    }
    throw BenchError("the editor did not tell of its save")
  }
}

extension ManagedObjectContext {
  /// All people, with their values.
  fileprivate func people() throws -> [Person] {
    var request = FetchRequest<Person>()
    request.returnsObjectsAsFaults = false
    return try fetch(request)
  }
}
