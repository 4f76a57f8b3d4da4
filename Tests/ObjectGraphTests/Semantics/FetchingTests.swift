import Foundation
import ObjectGraph
import TestSupport
import Testing

@Suite("Fetching")
struct FetchingTests {
  // MARK: What is found

  @Test(
    "A fetch asks the store, then reconciles with pending changes, and a count is the size of the same fetch",
    arguments: [0, 2])
  func pendingChanges(depth: Int) throws {
    let stack = try Stack.people(10)
    let context = depth == 0 ? stack.main : stack.chain(depth)[depth - 1]
    let ids = try stack.ids(0...9)
    try context.performAndWait { context in
      (context.object(with: ids[2]) as? Person)?.age = 100
      (context.object(with: ids[9]) as? Person)?.age = 3
      context.delete(context.object(with: ids[4]))
      Person(context: context).age = 5
      var request = try FetchRequest<Person>(format: "age BETWEEN {2, 7}", sortBy: [.ascending(\.age)])
      for (limit, offset, expected) in [
        (nil, 0, [3, 3, 5, 5, 6, 7]), (3, 0, [3, 3, 5]), (3, 4, [6, 7]), (0, 0, []), (nil, 6, []),
      ] as [(Int?, Int, [Int64])] {
        request.fetchLimit = limit
        request.fetchOffset = offset
        let ages = try context.fetch(request).map(\.age)
        let count = try context.count(for: request)
        let ids = try context.fetchIDs(request)
        #expect(ages == expected && count == expected.count && ids.count == expected.count)
      }
      request = try FetchRequest(format: "age BETWEEN {2, 7}")
      request.includesPendingChanges = false
      let stored = try context.count(for: request)
      #expect(stored == 6)
    }
  }

  @Test(
    "A fault that was fetched from what a parent had pending shows what has become of it",
    arguments: [true, false])
  func pendingFaults(inMemory: Bool) throws {
    let stack = try Stack(People.model, inMemory: inMemory)
    let ids = try stack.writer.performAndWait { writer in
      let (ada, bea) = (Person(context: writer), Person(context: writer))
      bea.age = 1
      try writer.save()
      (ada.age, bea.age) = (1, 2)
      return [ada.objectID, bea.objectID]
    }
    try stack.main.performAndWait { main in
      let faults = try main.fetch(FetchRequest<Person>(sortBy: [.ascending(\.age)]))
      #expect(faults.map(\.isFault) == [true, true])
      try stack.writer.performAndWait { writer in
        (writer.object(with: ids[0]) as? Person)?.age = 3
        try writer.refresh(writer.object(with: ids[1]), mergeChanges: false)
        try writer.save()
      }
      #expect(faults.map(\.age) == [3, 1])
    }
  }

  @Test("Entities under one root share one table, and subentities are included unless they are not wanted")
  func hierarchy() throws {
    let stack = try Stack(Zoo.model)
    stack.main.performAndWait { main in
      for name in ["Rex", "Tim"] { Dog(context: main).name = name }
      Cat(context: main).name = "Tom"
    }
    try stack.flush()
    let shell = SQLiteShell(path: stack.storePath)
    #expect(try shell.run("SELECT name FROM Animal ORDER BY name") == "Rex\nTim\nTom")
    #expect(try shell.run("SELECT count(*) FROM sqlite_master WHERE name IN ('Dog', 'Cat')") == "0")
    try stack.main.performAndWait { main in
      var request = FetchRequest<Animal>(sortBy: [.ascending("name")])
      let all = try main.fetch(request).map { $0.entity.name }
      #expect(all == ["Dog", "Dog", "Cat"])
      request.includesSubentities = false
      let own = try main.count(for: request)
      #expect(own == 0)
      let dogs = try main.fetch(FetchRequest<Dog>(sortBy: [.ascending("name")])).map(\.name)
      #expect(dogs == ["Rex", "Tim"])
    }
  }

  @Test("An abstract entity has no instances")
  func abstractEntity() async {
    await #expect(processExitsWith: .failure) {
      let stack = try Stack(Zoo.model, inMemory: true)
      stack.main.performAndWait { _ = $0.insertObject(ofEntity: "Animal") }
    }
  }

  @Test("An offset past the end is empty, in objects, IDs, counts, dictionaries and lazily", arguments: [0, 1])
  func offset(unsaved: Int) throws {
    let stack = try Stack.people(3)
    try stack.main.performAndWait { main in
      for _ in 0..<unsaved { Person(context: main).age = 50 }
      var request = FetchRequest<Person>(sortBy: [.ascending("age")], limit: 2)
      request.fetchOffset = 100
      let objects = try main.fetch(request)
      let ids = try main.fetchIDs(request)
      let count = try main.count(for: request)
      let dictionaries = try main.fetchDictionaries(request)
      let lazily = try main.fetchLazily(request)
      #expect(objects.isEmpty && ids.isEmpty && count == 0 && dictionaries.isEmpty && lazily.isEmpty)
      request.fetchOffset = 2
      let last = try main.fetchIDs(request)
      let lastCount = try main.count(for: request)
      #expect(last.count == 1 + unsaved)
      #expect(lastCount == 1 + unsaved)
    }
  }

  // MARK: Order

  @Test("ID results keep their sort order, also in a child context with changes of its own")
  func orderOfIDs() throws {
    let stack = try Stack.people(20)
    let ids = try stack.ids(0...19)
    try stack.chain(1)[0].performAndWait { child in
      (child.object(with: ids[3]) as? Person)?.age = 12
      let request = try FetchRequest<Person>(
        format: "age >= 10", sortBy: [.descending(\.age), .ascending(\.firstName)], limit: 9)
      let found = try child.fetchIDs(request)
      #expect(found == (13...19).reversed().map { ids[$0] } + [ids[12], ids[3]])
      let objects = try child.fetch(request).map(\.objectID)
      #expect(objects == found)
    }
  }

  @Test("Nil comes first, several keys count in turn, and texts have three orders", arguments: [true, false])
  func sorting(stored: Bool) throws {
    let stack = try Stack(People.model)
    try stack.main.performAndWait { main in
      for (index, name) in ["Page 10", "page 9", "Page 2", nil, "Über", "page 2", "Zoo"].enumerated() {
        let person = Person(context: main)
        (person.lastName, person.age) = (name, Int64(index))
      }
      if stored { try main.save() }
    }
    if stored { try stack.flush() }
    try stack.main.performAndWait { main in
      for (sorts, expected) in [
        ([.ascending(\.lastName)], [3, 0, 2, 6, 5, 1, 4]),
        ([.ascending(\.lastName, .caseInsensitive), .descending(\.age)], [3, 0, 5, 2, 1, 6, 4]),
        ([.ascending(\.lastName, .localizedStandard)], [3, 2, 5, 1, 0, 4, 6]),
        ([.descending("lastName", .localizedStandard)], [6, 4, 0, 1, 5, 2, 3]),
      ] as [([Sort<Person>], [Int64])] {
        let ages = try main.fetch(FetchRequest<Person>(sortBy: sorts)).map(\.age)
        #expect(ages == expected, "\(sorts)")
      }
    }
  }

  @Test("A sort through a relationship counts unsaved changes of the related objects", arguments: [0, 1])
  func relatedSort(depth: Int) throws {
    let stack = try Stack(People.model)
    try stack.main.performAndWait { main in
      for name in ["a", "b", "c"] {
        let (person, department) = (Person(context: main), Department(context: main))
        (person.lastName, department.name, person.department) = (name, name, department)
      }
      try main.save()
    }
    try stack.flush()
    let context = depth == 0 ? stack.main : stack.chain(depth)[depth - 1]
    try stack.main.performAndWait { main in
      try main.fetch(FetchRequest<Department>(format: "name == 'a'")).first?.name = "z"
    }
    try context.performAndWait { context in
      let request = FetchRequest<Person>(sortBy: [.ascending("department.name")], limit: 2)
      let names = try context.fetch(request).map(\.lastName)
      #expect(names == ["b", "c"])
      var dictionaries = FetchRequest<Person>(sortBy: [.descending("department.name")], limit: 1)
      dictionaries.propertiesToFetch = ["department.name"]
      let pending = try context.fetchDictionaries(dictionaries, includingPendingChanges: true)
      let stored = try context.fetchDictionaries(dictionaries)
      #expect(pending == [["department.name": "z"]] && stored == [["department.name": "c"]])
    }
  }

  // MARK: Results

  @Test(
    "Results are objects, IDs, dictionaries and counts; aggregates reflect the store unless pending changes are asked for"
  )
  func kinds() throws {
    let stack = try Stack.people(4)
    try stack.main.performAndWait { main in
      Person(context: main).age = 10
      var request = try FetchRequest<Person>(format: "age >= 2", sortBy: [.ascending(\.age)])
      let objects = try main.fetch(request)
      let ids = try main.fetchIDs(request)
      let count = try main.count(for: request)
      #expect(objects.map(\.age) == [2, 3, 10] && ids == objects.map(\.objectID) && count == 3)
      request.sortDescriptors = []
      request.propertiesToFetch = [.sum("age"), .count()]
      let stored = try main.fetchDictionaries(request)
      let pending = try main.fetchDictionaries(request, includingPendingChanges: true)
      #expect(stored == [["sum": 5, "count": 2]] && pending == [["sum": 15, "count": 3]])
    }
  }

  @Test("Dictionaries hold what expressions compute of each object", arguments: [true, false])
  func expressions(stored: Bool) throws {
    let stack = try Stack(Zoo.model)
    stack.main.performAndWait { _ = Keepers.fill($0) }
    if stored { try stack.flush() }
    try stack.main.performAndWait { main in
      var request = FetchRequest<Keeper>(sortBy: [.ascending("name")], limit: 2)
      request.propertiesToFetch = [
        try .expression("uppercase:(name)", as: "loud"), try .expression("shifts.@sum.hours * 2", as: "double"),
        try .expression("SUBQUERY(skills, $s, $s.level > %d).@count", 3, as: "high"),
        try .expression("CAST(shifts.@max.hours, 'NSDate')", as: "day"),
      ]
      let found = try main.fetchDictionaries(request, includingPendingChanges: true)
      #expect(found.map { $0["loud"] } == ["ANNA", "BERT"])
      #expect(found.map { $0["double"] } == [24, 4] && found.map { $0["high"] } == [1, 0])
      #expect(found.first?["day"] == .date(Date(timeIntervalSinceReferenceDate: 8)))
      #expect(throws: ConditionError.self) { try FetchExpression.expression("name +", as: "x") }
    }
  }

  @Test(
    "Distinct results are for dictionaries only, and group-by takes only constants, aggregates and grouped properties")
  func distinctAndGroups() throws {
    let stack = try Stack.people(25)
    try stack.main.performAndWait { main in
      var request = FetchRequest<Person>(sortBy: [.ascending("lastName")])
      request.returnsDistinctResults = true
      request.propertiesToFetch = ["lastName"]
      let names = try main.fetchDictionaries(request)
      let objects = try main.fetch(request).count
      let count = try main.count(for: request)
      #expect(names.count == 10 && objects == 25 && count == 25)
      request.returnsDistinctResults = false
      request.propertiesToGroupBy = ["lastName"]
      request.propertiesToFetch = ["lastName", .count(), .value(1, as: "one")]
      request.havingCondition = try Condition(format: "count > 2")
      let groups = try main.fetchDictionaries(request)
      #expect(groups.map { $0["lastName"] } == ["Last 0", "Last 1", "Last 2", "Last 3", "Last 4"])
      request.propertiesToFetch = ["lastName", try .expression("age + 1", as: "next")]
      let error = #expect(throws: ConditionError.self) { try main.fetchDictionaries(request) }
      #expect(error?.fragment == "next")
    }
  }

  // MARK: How much at a time

  @Test("Batch size works in a child context and in Swift's own collection", arguments: [0, 1])
  func batches(depth: Int) throws {
    let stack = try Stack.people(60).freshCoordinator()
    let context = depth == 0 ? stack.main : stack.chain(depth)[depth - 1]
    try context.performAndWait { context in
      var request = FetchRequest<Person>(sortBy: [.ascending(\.age)])
      request.fetchBatchSize = 20
      let lazily = try context.fetchLazily(request)
      #expect(lazily.count == 60)
      let one = stack.rowReads { _ = lazily[45].age }
      #expect(one == [20])
      let array = try context.fetch(request)
      let first = stack.rowReads { _ = array[0].age }
      #expect(array.count == 60 && first == [20])
    }
  }

  @Test("An asynchronous fetch hands its objects to a block on the context's executor", arguments: [true, false])
  func asynchronous(inMemory: Bool) async throws {
    let stack = try Stack(People.model, inMemory: inMemory)
    await stack.main.perform { main in for age in 0..<5 { Person(context: main).age = Int64(age) } }
    let request = try FetchRequest<Person>(format: "age > 1", sortBy: [.descending(\.age)])
    let executor = stack.main.executor
    let ages = try await stack.main.fetch(asynchronously: request) { main, people in
      #expect(executor.isCurrent && people.allSatisfy { $0.managedObjectContext === main })
      return people.map(\.age)
    }
    #expect(ages == [4, 3, 2])
    let unknown = FetchRequest<Person>(sortBy: [.ascending("nothing")])
    await #expect(throws: ConditionError.self) { try await stack.main.fetch(asynchronously: unknown) { $1.count } }
  }

  @Test(
    "Cancelling the task interrupts the store's search, and the context is free meanwhile", .timeLimit(.minutes(10)),
    arguments: [true, false])
  func cancelling(inMemory: Bool) async throws {
    let stack = try Stack(People.model, inMemory: inMemory)
    try await stack.main.perform { main in
      let department = Department(context: main)
      for _ in 0..<400 { Person(context: main).department = department }
      try main.save()
    }
    try stack.flush()
    // Takes a day if nobody interrupts it.
    let request = try FetchRequest<Person>(
      format: """
        SUBQUERY(department.employees, $a, SUBQUERY($a.department.employees, $b, SUBQUERY($b.department.employees, $c, \
        $a.age + $b.age + $c.age < 0).@count > 0).@count > 0).@count > 0
        """)
    let search = Task { try await stack.main.fetch(asynchronously: request) { $1.count } }
    let count = try await stack.main.perform { try $0.count(for: FetchRequest<Person>()) }
    #expect(count == 400)
    search.cancel()
    await #expect(throws: CancellationError.self) { try await search.value }
    let again = try await stack.main.perform { try $0.count(for: FetchRequest<Person>()) }
    #expect(again == 400)
  }
}
