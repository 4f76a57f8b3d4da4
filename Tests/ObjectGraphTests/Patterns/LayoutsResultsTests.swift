import ObjectGraph
import Testing

@Suite("P4 The four layouts: a results controller follows main")
struct LayoutsResultsTests {
  private let stack: Stack
  private let controller: FetchedResultsController<Person>
  private let events = Recorder<FetchedResultsEvent>()
  private let observation: FetchedResultsObservation

  init() throws {
    stack = try Stack.people(3)
    controller = try FetchedResultsController(
      FetchRequest<Person>(sortBy: [.ascending("age")]), context: stack.main)
    let executor = stack.main.executor
    observation = controller.observe { [events] event in
      #expect(executor.isCurrent)
      events.append(event)
    }
    try stack.main.performAndWait { [controller] in try controller.performFetch(in: $0) }
  }

  private var kinds: [FetchedResultsEvent.ObjectChange.Kind] {
    events.all.compactMap { if case .object(let change) = $0 { change.kind } else { nil } }
  }

  @Test("1: a results controller reports inserts, updates and deletes before any save")
  func beforeSaving() throws {
    let ids = controller.snapshot.objectIDs
    _ = stack.statements.take()
    stack.main.performAndWait { main in
      Person(context: main).age = 10
    }
    stack.main.performAndWait { ($0.object(with: ids[0]) as? Person)?.firstName = "updated" }
    stack.main.performAndWait { $0.delete($0.object(with: ids[1])) }
    #expect(kinds == [.insert, .update, .delete])
    #expect(stack.statements.take().allSatisfy { $0.role == .reader })
    stack.main.performAndWait { $0.rollback() }
    #expect(controller.snapshot.objectIDs == ids)
  }

  @Test("1: dropping changes by a rollback or a refresh is reported too")
  func droppingChanges() throws {
    let ids = controller.snapshot.objectIDs
    stack.main.performAndWait { main in
      Person(context: main).age = 10
      (main.object(with: ids[0]) as? Person)?.firstName = "updated"
      main.delete(main.object(with: ids[1]))
    }
    #expect(kinds == [.delete, .insert, .update])
    stack.main.performAndWait { $0.rollback() }
    #expect(kinds.dropFirst(3) == [.delete, .insert, .update])
    try stack.main.performAndWait { main in
      let person = main.object(with: ids[0])
      (person as? Person)?.age = 100
      main.processPendingChanges()
      #expect(controller.snapshot.objectIDs.last == ids[0])
      try main.refresh(person, mergeChanges: false)
      #expect(controller.snapshot.objectIDs == ids)
    }
  }

  @Test("2: an insert into an editing child is no event in main; saving the child is exactly one insert")
  func editingChild() throws {
    let child = ManagedObjectContext(parent: stack.main, name: "editing")
    child.performAndWait { child in
      let person = Person(context: child)
      person.age = 1
      person.firstName = "Ada"
    }
    stack.main.performAndWait { _ in }
    #expect(events.all.isEmpty)
    try child.performAndWait { try $0.save() }
    stack.main.performAndWait { _ in }
    #expect(kinds == [.insert])
    #expect(events.all.count == 3)
  }

  @Test("5: a merge makes the controller report the change, on main's executor, also of unregistered objects")
  func merging() throws {
    let ids = controller.snapshot.objectIDs
    let main = stack.main
    let other = stack.root("temporary")
    let following = other.observe { event in
      guard case .didSave(let save) = event else { return }
      main.perform { $0.mergeChanges(fromContextDidSave: save) }
    }
    try other.performAndWait { other in
      Person(context: other).age = 50
      (other.object(with: ids[0]) as? Person)?.firstName = "theirs"
      other.delete(other.object(with: ids[1]))
      try other.save()
    }
    stack.main.performAndWait { _ in }
    #expect(kinds.count == 3 && Set(kinds) == [.insert, .update, .delete])
    #expect(events.all.first == .willChange && events.all.last == .didChange)
    withExtendedLifetime(following) {}
  }
}
