import ObjectGraph
import TestSupport
import Testing

/// What a user interface shows of a results controller by applying its events.
private struct ShownList {
  var sections: [FetchedResultsSnapshot.Section]

  /// Applies events as a user interface does.
  mutating func apply(_ events: [FetchedResultsEvent]) {
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
    sections = zip(names, ids).map { FetchedResultsSnapshot.Section(name: $0, objectIDs: $1) }
  }
}

/// Random changes in several contexts, after each of which lists are compared with fetches.
@Suite("Fetched results controller, against fresh fetches")
struct FetchedResultsListTests {
  /// A controller whose events are applied to a list.
  private final class Follower<Object: ManagedObject> {
    let controller: FetchedResultsController<Object>
    private let events = Recorder<FetchedResultsEvent>()
    private var observation: FetchedResultsObservation?
    private var list: ShownList
    private var seen = 0

    init(_ request: FetchRequest<Object>, _ context: ManagedObjectContext, sections: String? = nil) throws {
      controller = try FetchedResultsController(request, context: context, sectionNameKeyPath: sections)
      try context.performAndWait { [controller] in try controller.performFetch(in: $0) }
      list = ShownList(sections: controller.snapshot.sections)
      observation = controller.observe { [events] in events.append($0) }
    }

    /// Old list and events are the new list, which is what a fetch gives.
    func check(_ round: String) throws {
      // What a child saved is told on the context's executor, after what is queued there.
      controller.context.performAndWait { _ in }
      let new = Array(events.all.dropFirst(seen))
      seen += new.count
      let before = list.sections
      for change in new.split(separator: .didChange) { list.apply(Array(change)) }
      let snapshot = controller.snapshot
      #expect(list.sections == snapshot.sections, "\(round): \(new) of \(before)")
      let fetched = try controller.context.performAndWait { [controller] in try $0.fetchIDs(controller.request) }
      #expect(snapshot.objectIDs == fetched, "\(round)")
      #expect(controller.failure == nil)
      #expect(new.isEmpty || (new.first == .willChange && new.last == .didChange))
      let old = before.flatMap(\.objectIDs)
      let difference = snapshot.difference(from: FetchedResultsSnapshot(sections: before))
      #expect(old.applying(difference) == fetched)
    }
  }

  @Test(
    "Random changes here, in a child and in a merged context: old list and events are the new list and a fresh fetch",
    arguments: [UInt64](1...6))
  func randomChanges(seed: UInt64) throws {
    let stack = try Stack(People.model, inMemory: seed.isMultiple(of: 2))
    let (main, other) = (stack.root("main"), stack.root("other"))
    stack.coordinator.mergePolicy = .mergeByPropertyObjectTrump
    let child = ManagedObjectContext(parent: main, name: "child")
    let mergings = [(main, other), (other, main)].map { from, into in
      from.observe { event in
        guard case .didSave(let save) = event else { return }
        into.performAndWait { $0.mergeChanges(fromContextDidSave: save) }
      }
    }
    let young = try FetchRequest<Person>(
      format: "age < 20", sortBy: [.ascending(\.lastName), .descending(\.age)])
    let byDepartment = try FetchRequest<Person>(
      format: "department.name != 'D0'", sortBy: [.ascending("department.name"), .ascending(\.age)])
    var some = FetchRequest<Person>(sortBy: [.ascending(\.lastName, .localizedStandard)], limit: 5)
    some.fetchOffset = 2
    let people = [
      try Follower(young, main, sections: "lastName"), try Follower(young, main),
      try Follower(byDepartment, main, sections: "department.name"), try Follower(some, main),
    ]
    let departments = try Follower(
      try FetchRequest<Department>(
        format: "ANY employees.age > 15 OR employees.@count > 2 OR employees.@sum.age == 7",
        sortBy: [.ascending(\.name)]), main)
    var random = SeededGenerator(seed: seed)
    for round in 0..<60 {
      let context = [main, main, child, other].randomElement(using: &random) ?? main
      try change(context, &random)
      if context !== main || Int.random(in: 0..<4, using: &random) == 0 {
        try context.performAndWait { try $0.save() }
      }
      if Int.random(in: 0..<12, using: &random) == 0 { main.performAndWait { $0.rollback() } }
      if Int.random(in: 0..<12, using: &random) == 0 { main.performAndWait { $0.refreshAllObjects() } }
      for follower in people { try follower.check("seed \(seed), round \(round)") }
      try departments.check("seed \(seed), round \(round)")
    }
    withExtendedLifetime(mergings) {}
  }

  private func change(_ context: ManagedObjectContext, _ random: inout SeededGenerator) throws {
    let changes = (0..<Int.random(in: 1...4, using: &random)).map { _ in
      (
        kind: Int.random(in: 0..<8, using: &random), place: Int.random(in: 0..<100, using: &random),
        number: Int64.random(in: 0..<30, using: &random)
      )
    }
    try context.performAndWait { context in
      for (kind, place, number) in changes {
        let people = try context.fetch(FetchRequest<Person>(sortBy: [.ascending(\.age)]))
        let departments = try context.fetch(FetchRequest<Department>(sortBy: [.ascending(\.name)]))
        let department = departments.isEmpty ? nil : departments[Int(number) % departments.count]
        switch kind {
        case 0, 1:
          let person = Person(context: context)
          (person.age, person.lastName, person.department) = (number, "Last \(number % 3)", department)
        case 2 where departments.count < 6: Department(context: context).name = "D\(number % 5)"
        case 3: if let department { department.name = "D\(number % 4)" }
        case 4 where !people.isEmpty: context.delete(people[place % people.count])
        case 5 where departments.count > 3: if let department { context.delete(department) }
        default:
          guard !people.isEmpty else { continue }
          let person = people[place % people.count]
          if kind == 6 { person.department = department } else { person.age = number }
          if kind == 7 { person.lastName = number % 7 == 0 ? nil : "Last \(number % 3)" }
        }
      }
    }
  }
}
