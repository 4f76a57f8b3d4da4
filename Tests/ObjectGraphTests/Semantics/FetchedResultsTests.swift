import ObjectGraph
import ObjectModel
import TestSupport
import Testing

@Suite("Fetched results controller")
struct FetchedResultsControllerTests {
  private let stack: Stack

  init() throws { stack = try Stack.people(6) }

  private func controller(
    _ request: FetchRequest<Person>, sections: String? = nil, in context: ManagedObjectContext? = nil
  ) throws -> (FetchedResultsController<Person>, Recorder<FetchedResultsEvent>, FetchedResultsObservation) {
    let context = context ?? stack.main
    let controller = try FetchedResultsController(request, context: context, sectionNameKeyPath: sections)
    try context.performAndWait { try controller.performFetch(in: $0) }
    let events = Recorder<FetchedResultsEvent>()
    let executor = context.executor
    let observation = controller.observe { event in
      #expect(executor.isCurrent)
      events.append(event)
    }
    return (controller, events, observation)
  }

  private func changes(_ events: Recorder<FetchedResultsEvent>) -> [String] {
    events.all.map { event in
      switch event {
      case .willChange: "will"
      case .didChange: "did"
      case .section(let change): "\(change.kind) section \(change.name) \(change.index)"
      case .object(let change):
        "\(change.kind) "
          + [change.indexPath, change.newIndexPath].compactMap { $0.map { "\($0)" } }.joined(separator: " ")
      }
    }
  }

  private func edit(_ id: ManagedObjectID, in context: ManagedObjectContext? = nil, _ age: Int64) {
    (context ?? stack.main).performAndWait { ($0.object(with: id) as? Person)?.age = age }
  }

  private let byAge = FetchRequest<Person>(sortBy: [.ascending("age")])

  @Test("Inserts, updates, moves and deletes are told with their places, before any save")
  func events() throws {
    let (controller, events, observation) = try controller(byAge)
    let ids = controller.snapshot.objectIDs
    stack.main.performAndWait { main in
      (main.object(with: ids[1]) as? Person)?.firstName = "updated"
      (main.object(with: ids[0]) as? Person)?.age = 10
      main.delete(main.object(with: ids[3]))
      Person(context: main).age = 4
    }
    #expect(
      changes(events) == [
        "will", "delete [0, 3]", "insert [0, 3]", "update [0, 1] [0, 0]", "move [0, 0] [0, 5]", "did",
      ])
    let ages = stack.main.performAndWait { main in controller.fetchedObjects(in: main).map(\.age) }
    #expect(ages == [1, 2, 4, 4, 5, 10])
    withExtendedLifetime(observation) {}
  }

  @Test("Sections follow the values, and come and go before their objects")
  func sections() throws {
    let request = FetchRequest<Person>(sortBy: [.ascending("lastName"), .ascending("age")])
    let (controller, events, observation) = try controller(request, sections: "lastName")
    #expect(controller.snapshot.sections.map(\.name) == (0...5).map { "Last \($0)" })
    let ids = controller.snapshot.objectIDs
    stack.main.performAndWait { main in
      (main.object(with: ids[2]) as? Person)?.lastName = "Last 0"
      (main.object(with: ids[5]) as? Person)?.lastName = nil
    }
    #expect(
      changes(events) == [
        "will", "delete section Last 5 5", "delete section Last 2 2", "insert section  0", "move [5, 0] [0, 0]",
        "move [2, 0] [1, 1]", "did",
      ])
    #expect(controller.snapshot.sections.map(\.name) == ["", "Last 0", "Last 1", "Last 3", "Last 4"])
    #expect(controller.snapshot.indexPath(of: ids[2]) == ResultsIndexPath(section: 1, item: 1))
    withExtendedLifetime(observation) {}
  }

  @Test("A first sort key that does not agree with the section key path is an error, and so is none")
  func agreement() throws {
    let error = #expect(throws: FetchedResultsError.self) { try controller(byAge, sections: "lastName") }
    #expect(error?.code == .sectionsUnsorted)
    let unsorted = #expect(throws: FetchedResultsError.self) { try controller(FetchRequest<Person>()) }
    #expect(unsorted?.code == .unsorted)
    let folded = FetchRequest<Person>(sortBy: [.ascending("lastName", .caseInsensitive)])
    #expect(throws: FetchedResultsError.self) { try controller(folded, sections: "lastName") }
    #expect(throws: ConditionError.self) { try controller(byAge, sections: "name") }
  }

  @Test("A predicate that stops matching is one delete, and one that starts to match one insert")
  func matching() throws {
    let (controller, events, observation) = try controller(.people(2...4))
    let ids = controller.snapshot.objectIDs
    edit(ids[1], 50)
    #expect(changes(events) == ["will", "delete [0, 1]", "did"])
    edit(ids[1], 3)
    #expect(changes(events).suffix(3) == ["will", "insert [0, 1]", "did"])
    // A change that does not concern the result is no event.
    let count = events.all.count
    edit(try #require(try stack.ids(0...0).first), 1)
    #expect(events.all.count == count)
    withExtendedLifetime(observation) {}
  }

  @Test("A child's save that makes an object start to match is one insert, even if it is unregistered in main")
  func startingToMatchFromBelow() throws {
    let (controller, events, observation) = try controller(.people(100...200))
    let id = try #require(try stack.ids(0...0).first)
    let child = ManagedObjectContext(parent: stack.main, name: "child")
    edit(id, in: child, 150)
    #expect(events.all.isEmpty)
    try child.performAndWait { try $0.save() }
    stack.main.performAndWait { main in
      #expect(changes(events) == ["will", "insert [0, 0]", "did"])
      #expect(controller.fetchedObjects(in: main).map(\.age) == [150])
    }
    withExtendedLifetime(observation) {}
  }

  @Test("A change of a related object that the sort or predicate goes through moves its objects")
  func relatedObjects() throws {
    let departments = try stack.main.performAndWait { main in
      let departments = ["A", "B"].map { name in
        let department = Department(context: main)
        department.name = name
        return department
      }
      for (index, person) in try main.fetch(byAge).enumerated() { person.department = departments[index % 2] }
      return departments.map(\.objectID)
    }
    let request = FetchRequest<Person>(sortBy: [.ascending("department.name"), .ascending("age")])
    let (controller, events, observation) = try controller(request, sections: "department.name")
    #expect(controller.snapshot.sections.map(\.name) == ["A", "B"])
    stack.main.performAndWait { ($0.object(with: departments[0]) as? Department)?.name = "C" }
    #expect(controller.snapshot.sections.map(\.name) == ["B", "C"])
    #expect(controller.snapshot.sections.map(\.objectIDs.count) == [3, 3])
    #expect(changes(events).first == "will" && changes(events).last == "did")
    withExtendedLifetime(observation) {}
  }

  @Test("Limit and offset hold after each change")
  func limits() throws {
    var request = byAge
    request.fetchLimit = 2
    request.fetchOffset = 1
    let (controller, events, observation) = try controller(request)
    let ids = try stack.ids(0...5)
    #expect(controller.snapshot.objectIDs == [ids[1], ids[2]])
    stack.main.performAndWait { $0.delete($0.object(with: ids[0])) }
    #expect(controller.snapshot.objectIDs == [ids[2], ids[3]])
    #expect(changes(events) == ["will", "delete [0, 0]", "insert [0, 1]", "did"])
    withExtendedLifetime(observation) {}
  }

  @Test("Snapshots and events come as sequences, and a difference leads from one snapshot to the next")
  func sequences() async throws {
    let (controller, _, observation) = try controller(byAge)
    let first = controller.snapshot
    var snapshots = controller.snapshots().makeAsyncIterator()
    var events = controller.events().makeAsyncIterator()
    #expect(await snapshots.next() == first)
    stack.main.performAndWait { Person(context: $0).age = -1 }
    let second = try #require(await snapshots.next())
    #expect(second.count == 7)
    let difference = second.difference(from: first)
    #expect(difference.count == 1 && difference.insertions.count == 1)
    #expect(first.objectIDs.applying(difference) == second.objectIDs)
    #expect(await events.next() == .willChange)
    guard case .object(let change) = await events.next() else { throw ConditionError(.argument, "no object change") }
    #expect(change.kind == .insert && change.newIndexPath == ResultsIndexPath(section: 0, item: 0))
    #expect(await events.next() == .didChange)
    withExtendedLifetime(observation) {}
  }

  @Test("A reset leaves what is stored, and fetching again tells what differs")
  func resetting() throws {
    let (controller, events, observation) = try controller(byAge)
    stack.main.performAndWait { Person(context: $0).age = 100 }
    #expect(controller.snapshot.count == 7)
    stack.main.performAndWait { $0.reset() }
    #expect(controller.snapshot.count == 6)
    try stack.root().performAndWait { other in
      Person(context: other).age = -5
      try other.save()
    }
    let before = events.all.count
    try stack.main.performAndWait { try controller.performFetch(in: $0) }
    #expect(changes(events).dropFirst(before) == ["will", "insert [0, 0]", "did"])
    withExtendedLifetime(observation) {}
  }

  @Test("Random changes: the events lead from each result to the next, which is what a fetch gives", arguments: 1...8)
  func randomChanges(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let condition = Condition.compare(.keyPath(["age"]), .less, .value(20), [])
    let request = FetchRequest<Person>(condition, sortBy: [.ascending("lastName"), .ascending("age")])
    let (controller, events, observation) = try controller(request, sections: "lastName")
    var shown = controller.snapshot.sections
    for _ in 0..<60 {
      let changes = (0..<Int.random(in: 1...4, using: &random)).map { _ in
        (
          Int.random(in: 0..<4, using: &random), Int.random(in: 0..<100, using: &random),
          Int64.random(in: 0..<30, using: &random)
        )
      }
      let seen = events.all.count
      try stack.main.performAndWait { main in
        for (kind, place, age) in changes {
          let all = try main.fetch(FetchRequest<Person>(sortBy: [.ascending("age")]))
          let person = kind == 0 || all.isEmpty ? Person(context: main) : all[place % all.count]
          if kind == 1 {
            main.delete(person)
          } else {
            person.age = age
            if kind != 2 { person.lastName = "Last \(age % 3)" }
          }
        }
      }
      shown = apply(Array(events.all.dropFirst(seen)), to: shown)
      #expect(shown == controller.snapshot.sections)
      let fetched = try stack.main.performAndWait { try $0.fetchIDs(request) }
      #expect(controller.snapshot.objectIDs == fetched)
    }
    withExtendedLifetime(observation) {}
  }

  /// What a list shows after the events, as a user interface applies them.
  private func apply(
    _ events: [FetchedResultsEvent], to sections: [FetchedResultsSnapshot.Section]
  ) -> [FetchedResultsSnapshot.Section] {
    var names = sections.map(\.name)
    var removed: Set<ResultsIndexPath> = []
    var inserted: [(ResultsIndexPath, ManagedObjectID)] = []
    var deletedSections: Set<Int> = []
    var insertedSections: [(Int, String)] = []
    for event in events {
      switch event {
      case .section(let change) where change.kind == .delete: deletedSections.insert(change.index)
      case .section(let change): insertedSections.append((change.index, change.name))
      case .object(let change) where change.kind != .update:
        if let path = change.indexPath { removed.insert(path) }
        if let path = change.newIndexPath { inserted.append((path, change.objectID)) }
      default: break
      }
    }
    var ids = sections.enumerated().map { section, entry in
      entry.objectIDs.enumerated().filter { !removed.contains(ResultsIndexPath(section: section, item: $0.offset)) }
        .map(\.element)
    }
    for index in deletedSections.sorted(by: >) {
      names.remove(at: index)
      ids.remove(at: index)
    }
    for (index, name) in insertedSections {
      names.insert(name, at: index)
      ids.insert([], at: index)
    }
    for (path, id) in inserted.sorted(by: { $0.0 < $1.0 }) { ids[path.section].insert(id, at: path.item) }
    return zip(names, ids).map { FetchedResultsSnapshot.Section(name: $0, objectIDs: $1) }
  }
}
