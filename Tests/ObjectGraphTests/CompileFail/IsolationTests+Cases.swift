extension IsolationTests {
  /// Ways out of a context, and names that are not there.
  static let cases: [IsolationCase] = leaving + usingFromOutside + resultsFromOutside + renamed

  private static let leaving = [
    IsolationCase(
      name: "an object returned from perform", diagnostic: ["'ManagedObject'", "'Sendable'"],
      template: """
        private func leak(_ context: ManagedObjectContext, _ id: ManagedObjectID) async -> Managed[[Object||ObjectID]] {
          await context.perform { $0.object(with: id)[[||.objectID]] }
        }
        """),
    IsolationCase(
      name: "an object returned from performAndWait", diagnostic: ["'ManagedObject'", "'Sendable'"],
      template: """
        private func leak(_ context: ManagedObjectContext, _ id: ManagedObjectID) -> Managed[[Object||ObjectID]] {
          context.performAndWait { $0.object(with: id)[[||.objectID]] }
        }
        """),
    IsolationCase(
      name: "objects fetched for somebody outside", diagnostic: ["Person", "Sendable"],
      template: """
        private func leak(_ context: ManagedObjectContext) async throws -> Int {
          let people = try await context.perform { try $0.fetch[[||IDs]](FetchRequest<Person>()) }
          return people.count
        }
        """),
    IsolationCase(
      name: "an object captured by a task", diagnostic: ["sending", "data races"],
      template: """
        private func leak(_ context: ManagedObjectContext) {
          context.perform { context in
            let person = Person(context: context)[[||.objectID]]
            Task.detached { print(person) }
            print(person)
          }
        }
        """),
    IsolationCase(
      name: "an object captured by a dispatched block", diagnostic: ["'person'", "Sendable"],
      template: """
        private func leak(_ context: ManagedObjectContext) {
          context.perform { context in
            let person = Person(context: context)[[||.objectID]]
            DispatchQueue.global().async { print(person) }
          }
        }
        """),
    IsolationCase(
      name: "an object captured by an observer", diagnostic: ["'person'", "Sendable"],
      template: """
        private func leak(_ context: ManagedObjectContext) {
          context.perform { context in
            let person = Person(context: context)[[||.objectID]]
            _ = context.observe { _ in print(person) }
          }
        }
        """),
    IsolationCase(
      name: "an object in a Sendable value", diagnostic: ["'person'", "Sendable"],
      template: """
        private struct Card: Sendable { let person: [[Person||ManagedObjectID]] }
        """),
    IsolationCase(
      name: "an object in a global", diagnostic: ["'lastPerson'", "not concurrency-safe"],
      template: """
        private let lastPerson: [[Person||ManagedObjectID]]? = nil
        """),
    IsolationCase(
      name: "an object used in another context's block", diagnostic: ["'person'", "Sendable"],
      template: """
        private func smuggle(_ first: ManagedObjectContext, _ second: ManagedObjectContext) {
          first.perform { context in
            let person = Person(context: context)[[||.objectID]]
            second.perform { other in print(other, person) }
          }
        }
        """),
    IsolationCase(
      name: "an object inserted into another context", diagnostic: ["actor-isolated", "init(context:)"],
      template: """
        private func smuggle(_ first: ManagedObjectContext, _ second: ManagedObjectContext) {
          first.perform { context in print(Person(context: [[second||context]]).age) }
        }
        """),
    IsolationCase(
      name: "an object sent through a sequence", diagnostic: ["sending", "'ManagedObject'", "data races"],
      template: """
        private func stream(_ context: ManagedObjectContext) -> AsyncStream<[[Person||ManagedObjectID]]> {
          let (stream, continuation) = AsyncStream<[[Person||ManagedObjectID]]>.makeStream()
          context.perform { continuation.yield(Person(context: $0)[[||.objectID]]) }
          return stream
        }
        """),
  ]

  private static let usingFromOutside = [
    IsolationCase(
      name: "a context asked from outside", diagnostic: ["actor-isolated", "'count(for:)'"],
      template: """
        private func look(_ context: ManagedObjectContext) async throws -> Int {
          try [[||await ]]context.count(for: FetchRequest<Person>())
        }
        """),
    IsolationCase(
      name: "a context saved from outside", diagnostic: ["actor-isolated", "'save()'"],
      template: """
        private func save(_ context: ManagedObjectContext) throws {
          try [[context.save()||context.performAndWait { try $0.save() }]]
        }
        """),
    IsolationCase(
      name: "an object asked for from outside", diagnostic: ["ManagedObject", "sendable"],
      template: """
        private func look(_ context: ManagedObjectContext, _ id: ManagedObjectID) async -> Bool {
          [[await context.object(with: id).isFault||await context.perform { $0.object(with: id).isFault }]]
        }
        """),
    IsolationCase(
      name: "objects fetched from outside", diagnostic: ["Person", "sendable"],
      template: """
        private func look(_ context: ManagedObjectContext) async throws -> Int {
          try await context.fetch[[||IDs]](FetchRequest<Person>()).count
        }
        """),
    IsolationCase(
      name: "registered objects taken outside", diagnostic: ["'registeredObjects'", "sendable"],
      template: """
        private func look(_ context: ManagedObjectContext) async -> Int {
          [[await context.registeredObjects.count||await context.perform { $0.registeredObjects.count }]]
        }
        """),
    IsolationCase(
      name: "a parent used in its child's block", diagnostic: ["actor-isolated", "'rollback()'"],
      template: """
        private func undo(_ parent: ManagedObjectContext, _ child: ManagedObjectContext) {
          child.perform { child in [[parent||child]].rollback() }
        }
        """),
    IsolationCase(
      name: "objects of a notification outside", diagnostic: ["insertedObjects(in:)", "actor"],
      template: """
        private func look(_ context: ManagedObjectContext) async {
          for await case .didSave(let save) in context.events() {
            print(save.inserted[[Objects(in: context)||ObjectIDs]])
          }
        }
        """),
  ]

  private static let resultsFromOutside = [
    IsolationCase(
      name: "a lazy result returned from perform", diagnostic: ["LazyObjects<Person>", "Sendable"],
      template: """
        private func leak(_ context: ManagedObjectContext) async throws -> Int {
          let people = try await context.perform { try $0.fetchLazily(FetchRequest<Person>())[[||.objectIDs]] }
          return people.count
        }
        """),
    IsolationCase(
      name: "a lazy result used in another block", diagnostic: ["'people'", "Sendable"],
      template: """
        private func smuggle(_ first: ManagedObjectContext, _ second: ManagedObjectContext) {
          first.performAndWait { context in
            guard let people = try? context.fetchLazily(FetchRequest<Person>())[[||.objectIDs]] else { return }
            second.performAndWait { other in print(other, people.count) }
          }
        }
        """),
    IsolationCase(
      name: "a controller's objects outside", diagnostic: ["fetchedObjects(in:)", "actor-isolated"],
      template: """
        private func look(_ context: ManagedObjectContext, _ controller: FetchedResultsController<Person>) {
          print(controller[[.fetchedObjects(in: context)||.snapshot.objectIDs]].count)
        }
        """),
    IsolationCase(
      name: "a controller's objects awaited outside", diagnostic: ["Person", "sendable"],
      template: """
        private func look(_ context: ManagedObjectContext, _ controller: FetchedResultsController<Person>) async {
          [[print(await controller.fetchedObjects(in: context).count)||print(controller.snapshot.objectIDs.count)]]
        }
        """),
    IsolationCase(
      name: "a controller's objects returned from perform", diagnostic: ["Person", "Sendable"],
      template: """
        private func leak(_ context: ManagedObjectContext, _ controller: FetchedResultsController<Person>) async -> Int {
          let people = await context.perform { controller.fetchedObjects(in: $0)[[||.map(\\.objectID)]] }
          return people.count
        }
        """),
  ]

  private static let renamed = [
    IsolationCase(
      name: "a renamed class", diagnostic: ["'Persom'"],
      template: "private let request = FetchRequest<Pers[[om||on]]>()"),
    IsolationCase(
      name: "a renamed property in a predicate", diagnostic: ["agee"],
      template: "private func make() -> Predicate<Person> { #Predicate { $0.age[[e||]] > 1 } }"),
    IsolationCase(
      name: "a renamed property in a sort", diagnostic: ["agee"],
      template: "private func make() -> FetchRequest<Person> { .init(sortBy: [.ascending(\\Person.age[[e||]])]) }"),
    IsolationCase(
      name: "a renamed property of an object", diagnostic: ["agee"],
      template: "private func grow(_ person: Person) { person.age[[e||]] += 1 }"),
  ]
}
