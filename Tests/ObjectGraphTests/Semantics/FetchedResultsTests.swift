import Foundation
import ObjectGraph
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

  @Test("The old result is there until all changes are told, and the new one then")
  func whenShown() throws {
    let (controller, _, _) = try controller(byAge)
    let old = controller.snapshot.objectIDs
    let seen = Recorder<[ManagedObjectID]>()
    let observation = controller.observe { [weak controller] event in
      if let controller { seen.append(controller.snapshot.objectIDs) }
    }
    stack.main.performAndWait { $0.delete($0.object(with: old[0])) }
    #expect(seen.all == [old, old, Array(old.dropFirst())])
    withExtendedLifetime(observation) {}
  }

  @Test("A change that can't be followed is told as a failure until the next fetch succeeds")
  func failure() throws {
    var request = byAge
    request.fetchLimit = 3
    let (controller, _, _) = try controller(request)
    let ids = controller.snapshot.objectIDs
    try stack.main.performAndWait { main in
      let first = controller.fetchedObjects(in: main)[0]
      #expect(first.age == 0)
      try stack.coordinator.close()
      first.age = 100
    }
    #expect((controller.failure as? StoreError)?.code == .noStore)
    #expect(controller.snapshot.objectIDs == ids)
    try stack.coordinator.open(.sqlite(at: URL(fileURLWithPath: stack.storePath)))
    try stack.main.performAndWait { try controller.performFetch(in: $0) }
    #expect(controller.failure == nil)
    #expect(controller.snapshot.objectIDs.first == ids[1])
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

  @Test("Sections come in an order of texts if a second sort tells apart what that does not")
  func sectionsInTextOrder() throws {
    let stack = try Stack(People.model)
    let names = ["zebra", "Ärger", "apfel", "Apfel", "ärger", "Apfel"]
    try stack.there.performAndWait { there in
      for name in names { Person(context: there).lastName = name }
      try there.save()
    }
    let request = FetchRequest<Person>(sortBy: [.ascending("lastName", .localizedStandard), .ascending("lastName")])
    let (controller, _, observation) = try controller(request, sections: "lastName", in: stack.main)
    #expect(controller.snapshot.sections.map(\.name) == ["Apfel", "apfel", "Ärger", "ärger", "zebra"])
    #expect(controller.snapshot.sections.map(\.objectIDs.count) == [2, 1, 1, 1, 1])
    stack.main.performAndWait { Person(context: $0).lastName = "apfel" }
    #expect(controller.snapshot.sections.map(\.objectIDs.count) == [2, 2, 1, 1, 1])
    withExtendedLifetime(observation) {}
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

  @Test("A merged update that makes an object start to match is one insert, even of an object that was unregistered")
  func mergedInsert() throws {
    let (main, other) = (stack.root("main"), stack.root("other"))
    let request = try FetchRequest<Person>(format: "age > 100", sortBy: [.ascending(\.age)])
    let (controller, events, observation) = try controller(request, in: main)
    let id = try #require(try stack.ids(2...2).first)
    let saving = other.observe { event in
      guard case .didSave(let save) = event else { return }
      main.performAndWait { $0.mergeChanges(fromContextDidSave: save) }
    }
    try other.performAndWait { other in
      (other.object(with: id) as? Person)?.age = 200
      try other.save()
    }
    #expect(changes(events) == ["will", "insert [0, 0]", "did"])
    #expect(controller.snapshot.objectIDs == [id])
    withExtendedLifetime((observation, saving)) {}
  }

  @Test("What another process writes is seen once it is merged")
  func merged() throws {
    let main = stack.root("main")
    let request = try FetchRequest<Person>(format: "age < 100", sortBy: [.ascending(\.age)])
    let (controller, events, observation) = try controller(request, in: main)
    let ids = controller.snapshot.objectIDs
    let shell = SQLiteShell(path: stack.storePath)
    _ = try shell.run("UPDATE Person SET age = 200, _version = _version + 1 WHERE _key = \(ids[1].key)")
    _ = try shell.run("UPDATE Person SET age = 9, _version = _version + 1 WHERE _key = \(ids[0].key)")
    #expect(events.all.isEmpty)
    main.performAndWait { $0.mergeChanges(fromRemoteContextSave: RemoteContextSave(updated: Array(ids[0...1]))) }
    #expect(changes(events) == ["will", "delete [0, 1]", "move [0, 0] [0, 4]", "did"])
    withExtendedLifetime(observation) {}
  }

  @Test("Several controllers on one context each tell their own changes, and a delete beside an insert both")
  func several() throws {
    let (all, allEvents, first) = try controller(byAge)
    let old = try controller(try FetchRequest<Person>(format: "age > 3", sortBy: [.descending(\.age)]))
    let id = all.snapshot.objectIDs[0]
    stack.main.performAndWait { main in
      main.delete(main.object(with: id))
      Person(context: main).age = 7
    }
    #expect(changes(allEvents) == ["will", "delete [0, 0]", "insert [0, 5]", "did"])
    #expect(changes(old.1) == ["will", "insert [0, 0]", "did"])
    withExtendedLifetime((first, old.2)) {}
  }

  @Test("An object that others delete stays in the result while unsaved edits of a parent keep it, as in a fetch")
  func editedAboveAndDeleted() throws {
    let stack = try Stack(People.model)
    let id = try stack.savedPerson()
    let controller = try FetchedResultsController(
      FetchRequest<Person>(sortBy: [.ascending(\.age)]), context: stack.main)
    try stack.main.performAndWait { try controller.performFetch(in: $0) }
    try stack.main.performAndWait { main in
      (try main.existingObject(with: id) as? Person)?.age = 5
      try main.save()
    }
    let deleted = Recorder<ContextDidSave>()
    let observation = stack.there.observe { event in
      if case .didSave(let save) = event { deleted.append(save) }
    }
    try stack.there.performAndWait { there in
      there.delete(try there.existingObject(with: id))
      try there.save()
    }
    withExtendedLifetime(observation) {}
    let saves = deleted.all
    for context in [stack.writer, stack.main] {
      context.performAndWait { context in for save in saves { context.mergeChanges(fromContextDidSave: save) } }
    }
    let fetched = try stack.main.performAndWait { try $0.fetchIDs(FetchRequest<Person>()) }
    #expect(fetched == [id] && controller.snapshot.objectIDs == [id])
  }
}
