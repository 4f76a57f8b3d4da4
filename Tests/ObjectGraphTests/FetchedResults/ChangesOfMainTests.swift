import ObjectGraph
import Testing

@Suite("A results controller follows what is dropped and merged")
struct ChangesOfMainTests {
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

  @Test("Dropping changes by a rollback or a refresh is reported")
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

  @Test("A merge is reported on main's executor, also of unregistered objects")
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
