import Dispatch
import Foundation
import ObjectGraph
import PostgresTesting
import TestSupport
import StoreTesting
import Testing

@Suite("P3 Fetch IDs in the background, use objects on main", .onEachStore)
struct BackgroundFetchTests {
  private let stack: Stack
  private let ages: ClosedRange<Int64> = 100...200

  init() throws { stack = try Stack.people() }

  @Test("1: populating is one transaction, and 1,000 persons are counted")
  func populating() throws {
    let stack = try Stack(People.model)
    try stack.root("importer").performAndWait { importer in
      for age in 0..<1_000 { Person(context: importer).age = Int64(age) }
      try importer.save()
    }
    if SQLStore.current == .postgres {
      // Each row tells the transaction that wrote it.
      #expect(try stack.place.shell("SELECT count(DISTINCT xmin::text) FROM Person") == "1")
    } else {
      let steps = stack.faults.drainSteps()
      #expect(steps.filter { $0 == .begin }.count == 1)
      #expect(steps.filter { $0 == .commit }.count == 1)
      #expect(steps.filter { $0 == .insert }.count == 1_000)
    }
    let count = try stack.main.performAndWait { try $0.count(for: FetchRequest<Person>()) }
    #expect(count == 1_000)
  }

  @Test("2: the background context sees committed data only, not what main has not saved")
  func committedDataOnly() throws {
    let unsaved = stack.main.performAndWait { main in
      let person = Person(context: main)
      person.age = 150
      return person.objectID
    }
    let ids = try stack.ids(ages)
    #expect(ids.count == 101)
    #expect(!ids.contains(unsaved))
  }

  @Test("3: a fetch of IDs gives 101, all permanent, and registers no object")
  func idsOnly() throws {
    try stack.root("background").performAndWait { background in
      var request = FetchRequest.people(ages)
      request.fetchBatchSize = 20
      let ids = try background.fetchIDs(request)
      #expect(ids.count == 101)
      #expect(ids.allSatisfy { !$0.isTemporaryID })
      #expect(background.registeredObjects.isEmpty)
    }
  }

  @Test("4: IDs cross executors; an object that does is a compile error", .onlyOnSQLite("a compiler knows no store"))
  func whatCrosses() async throws {
    let none = try await Compiler.errors(
      in: """
        func ids(_ context: ManagedObjectContext) async throws -> [ManagedObjectID] {
          try await context.perform { try $0.fetchIDs(FetchRequest<Person>()) }
        }
        """)
    #expect(none == [])
    let errors = try await Compiler.errors(
      in: """
        func people(_ context: ManagedObjectContext) async throws -> [Person] {
          try await context.perform { try $0.fetch(FetchRequest<Person>()) }
        }
        """)
    #expect(errors.contains { $0.contains("Person") && $0.contains("Sendable") })
  }

  @Test("5: turning 101 IDs into objects runs no SQL and gives faults; the first read fires one")
  func objectsOfIDs() throws {
    let ids = try stack.ids(ages)
    try stack.main.performAndWait { main in
      var people: [ManagedObject] = []
      let count = stack.statementCount { people = main.objects(with: ids) }
      #expect(count == 0)
      #expect(people.count == 101)
      #expect(people.allSatisfy { $0.isFault })
      let first = try #require(people.first as? Person)
      #expect(first.age == 100)
      #expect(!first.isFault)
      #expect(people.dropFirst().allSatisfy { $0.isFault })
    }
  }

  @Test("6: reading all 101 takes at most 6 SELECTs, in whatever order")
  func batchFaulting() throws {
    let ids = try stack.ids(ages)
    for order in [ids, ids.reversed(), ids.shuffled()] {
      let cold = try stack.freshCoordinator()
      cold.main.performAndWait { main in
        let converted = ids.compactMap { $0.uriRepresentation }.compactMap { cold.coordinator.objectID(for: $0) }
        let places = Dictionary(uniqueKeysWithValues: zip(ids, converted))
        let people = main.objects(with: converted)
        var read: [Int64] = []
        let reads = cold.rowReads {
          read = order.compactMap { places[$0] }.compactMap { main.object(with: $0) as? Person }.map(\.age)
        }
        #expect(Set(read) == Set(ages))
        #expect(reads.count >= 1 && reads.count <= 6)
        #expect(reads.reduce(0, +) == 101)
        withExtendedLifetime(people) {}
      }
    }
  }

  @Test("7: objects in batches of 20: the count is known at once, index 55 loads only its batch", arguments: [0, 2])
  func batches(depth: Int) throws {
    let cold = try stack.freshCoordinator()
    let context = depth == 0 ? cold.main : cold.chain(depth)[depth - 1]
    try context.performAndWait { context in
      var request = FetchRequest.people(ages)
      request.fetchBatchSize = 20
      var fetched = LazyObjects<Person>?.none
      let first = try cold.rowReads { fetched = try context.fetchLazily(request) }
      let people = try #require(fetched)
      #expect(first == [] && people.count == 101)
      var read: [Int64] = []
      let one = cold.rowReads { read = [people[55].age] }
      #expect(one == [20] && read == [155])
      let batch = cold.rowReads { read = people[40...59].map(\.age) }
      #expect(batch == [] && read == Array(140...159))
      let all = cold.rowReads { read = people.map(\.age) }
      #expect(all.allSatisfy { $0 <= 20 } && read == Array(ages))
    }
  }

  @Test("A plain fetch with a batch size reads at most so many rows per SELECT, too")
  func batchesOfFaults() throws {
    let cold = try stack.freshCoordinator()
    try cold.main.performAndWait { main in
      var request = FetchRequest.people(ages)
      request.fetchBatchSize = 20
      var people: [Person] = []
      let first = try cold.rowReads { people = try main.fetch(request) }
      #expect(first == [] && people.count == 101)
      var read: [Int64] = []
      let one = cold.rowReads { read = [people[55].age] }
      #expect(one == [20] && read == [155])
      let all = cold.rowReads { read = people.map(\.age) }
      #expect(all == [20, 20, 20, 20, 1] && read == Array(ages))
    }
  }

  @Test("8: sorted ID results keep their order, in a child with pending changes too")
  func order() throws {
    let request = FetchRequest<Person>(nil, sortBy: [.descending("age")], limit: 5)
    let child = stack.chain(2)[1]
    try child.performAndWait { child in
      let eldest = Person(context: child)
      eldest.age = 5_000
      let between = Person(context: child)
      between.age = 997
      let ids = try child.fetchIDs(request)
      let ages = try ids.map { try child.existingObject(with: $0) as? Person }.map { $0?.age }
      #expect(ages == [5_000, 999, 998, 997, 997])
    }
  }

  @Test("9: an unknown entity or property is an error that names it; a renamed class does not compile")
  func unknownNames() async throws {
    stack.main.performAndWait { main in
      let entity = #expect(throws: ConditionError.self) {
        try main.fetchIDs(FetchRequest<ManagedObject>(entity: "Persom", nil))
      }
      #expect(entity?.code == .unknownEntity && "\(entity ?? .init(.syntax, ""))".contains("Persom"))
      let property = #expect(throws: ConditionError.self) {
        try main.fetchIDs(FetchRequest<Person>(.isNull(.keyPath(["agee"]))))
      }
      #expect(property?.code == .unknownProperty && "\(property ?? .init(.syntax, ""))".contains("agee"))
      let sort = #expect(throws: ConditionError.self) {
        try main.fetchIDs(FetchRequest<Person>(sortBy: [.ascending("naem")]))
      }
      #expect("\(sort ?? .init(.syntax, ""))".contains("naem"))
    }
    if SQLStore.current != .sqlite { return }
    let errors = try await Compiler.errors(in: "let request = FetchRequest<Persom>()")
    #expect(errors.contains { $0.contains("Persom") })
  }

  @Test("10: no match is an empty array, and a fetch that fails throws")
  func failing() throws {
    let background = stack.root("background")
    let none = try background.performAndWait { try $0.fetchIDs(.people(5_000...6_000)) }
    #expect(none == [])
    try stack.coordinator.close()
    let error = #expect(throws: StoreError.self) {
      _ = try background.performAndWait { try $0.fetchIDs(.people(0...1)) }
    }
    #expect(error?.code == .noStore)
  }

  @Test("11: point fetches on main begin and end while a background scan is in the middle of its rows")
  func scanning() throws {
    let (background, main) = (stack.root("background"), stack.main)
    let isInTheMiddle = DispatchSemaphore(value: 0)
    let isAnswered = DispatchSemaphore(value: 0)
    let order = Recorder<String>()
    let coordinator = stack.coordinator
    let entity = try #require(People.model.entitiesByName["Person"])
    background.perform { _ in
      // One statement over all rows, which stops half-way until main has its answers.
      #expect(throws: Never.self) {
        var count = 0
        let query = StoreQuery(entity: entity, wantsRows: false, coordinatorOrdinal: coordinator.ordinal)
        try coordinator.openStore().read { reader in
          try reader.fetch(query) { _, _ in
            count += 1
            guard count == 500 else { return true }
            order.append("scan half-way")
            isInTheMiddle.signal()
            #expect(isAnswered.wait(timeout: .now() + 60) == .success)
            return true
          }
        }
        order.append("scan over, \(count) rows")
      }
    }
    #expect(isInTheMiddle.wait(timeout: .now() + 60) == .success)
    for age in 0..<200 {
      let count = try main.performAndWait { try $0.fetchIDs(.people(Int64(age)...Int64(age))).count }
      #expect(count == 1)
    }
    order.append("200 answers")
    isAnswered.signal()
    background.performAndWait { _ in }
    // The bench measures how long they take beside a scan of a million rows.
    #expect(order.all == ["scan half-way", "200 answers", "scan over, 1000 rows"])
  }

  @Test("12: a row that was deleted after the fetch is not found, and firing its fault is an error, not a crash")
  func deletedRow() throws {
    let id = try #require(try stack.ids(150...150).first)
    try stack.root("other").performAndWait { other in
      other.delete(other.object(with: id))
      try other.save()
    }
    stack.main.performAndWait { main in
      #expect(throws: ObjectNotFound.self) { try main.existingObject(with: id) }
      let person = main.object(with: id) as? Person
      #expect(person?.firstName == nil)
      #expect(person?.isDeleted == true)
    }
    let strict = ManagedObjectContext(parent: stack.writer, name: "strict")
    strict.performAndWait { strict in
      strict.shouldDeleteInaccessibleFaults = false
      let person = strict.object(with: id) as? Person
      #expect(throws: ObjectNotFound.self) { try person.map { try strict.realize($0) } }
      #expect(person?.firstName == nil)
      #expect(person?.isDeleted == false)
      #expect(throws: ObjectNotFound.self) { try strict.save() }
    }
  }

  @Test("13: dropping main while the background fetch runs does no harm")
  func droppingMain() async throws {
    let background = stack.root("background")
    weak var dropped: ManagedObjectContext?
    var running: [Task<Int, any Error>] = []
    do {
      let main = ManagedObjectContext(parent: stack.writer, name: "short-lived main")
      dropped = main
      running = (0..<4).map { _ in
        Task.detached { try await background.perform { try $0.fetchIDs(.people(0...999)).count } }
      }
      main.performAndWait { Person(context: $0).age = 1 }
    }
    for task in running {
      let count = try await task.value
      #expect(count == 1_000)
    }
    #expect(dropped == nil)
  }
}
