import ObjectGraph
import Testing

@Suite("Fetch requests: options, prefetching and faults")
struct FetchOptionTests {
  /// Three departments with four persons each.
  private func departments() throws -> Stack {
    let stack = try Stack(People.model)
    try stack.writer.performAndWait { writer in
      for number in 0..<3 {
        let department = Department(context: writer)
        department.name = "Department \(number)"
        for age in 0..<4 {
          let person = Person(context: writer)
          person.age = Int64(number * 10 + age)
          person.department = department
        }
      }
      try writer.save()
    }
    return try Stack(People.model, place: stack.place)
  }

  @Test("Limits and offsets count what is seen here, however many of the stored objects have changed")
  func window() throws {
    let stack = try Stack(People.model)
    try stack.here.performAndWait { here in
      let people = (0..<10).map { number in
        let person = Person(context: here)
        person.age = Int64(number)
        return person
      }
      try here.save()
      var request = FetchRequest<Person>(sortBy: [.ascending(\.age)])
      request.fetchOffset = 7
      #expect(try here.fetch(request).map(\.age) == [7, 8, 9])
      #expect(try here.count(for: request) == 3)
      for person in people.prefix(3) { person.age = 100 }
      #expect(try here.fetch(request).map(\.age) == [100, 100, 100])
      request.fetchOffset = 1
      request.fetchLimit = 3
      #expect(try here.fetch(request).map(\.age) == [4, 5, 6])
      #expect(try here.count(for: request) == 3)
    }
  }

  @Test("Without subentities no object of one is found, whether it is stored or not", arguments: [true, false])
  func subentities(isStored: Bool) throws {
    let stack = try Stack(Zoo.model)
    try stack.here.performAndWait { here in
      let animals: [ManagedObject] = [Dog(context: here), Cat(context: here)]
      if isStored { try here.save() }
      var request = FetchRequest<Animal>()
      #expect(try Set(here.fetchIDs(request)) == Set(animals.map(\.objectID)))
      request.includesSubentities = false
      #expect(try here.fetchIDs(request) == [])
      #expect(try here.count(for: request) == 0)
      #expect(try here.fetchIDs(FetchRequest<Dog>()) == [animals[0].objectID])
    }
  }

  @Test("A request that is made in one go is a constant that any block may capture")
  func constantRequests() throws {
    let stack = try Stack.people(20)
    let request = FetchRequest<Person>().setting(\.fetchLimit, to: 5).setting(\.fetchOffset, to: 18)
    #expect(try stack.here.performAndWait { try $0.count(for: request) } == 2)
    let byName = FetchRequest<ManagedObject>(entity: "Person")
    #expect(try stack.here.performAndWait { try $0.count(for: byName) } == 20)
    let delete = BatchDeleteRequest(request).setting(\.resultType, to: .objectIDs)
    #expect(try stack.here.performAndWait { try $0.execute(delete).objectIDs.count } == 2)
    #expect(request.fetchLimit == 5 && FetchRequest<Person>().fetchLimit == nil)
  }

  @Test("Prefetching a to-one relationship costs one statement, and reading the destinations none")
  func prefetchingToOne() throws {
    let stack = try departments()
    try stack.main.performAndWait { main in
      var request = FetchRequest<Person>(sortBy: [.ascending("age")])
      request.relationshipKeyPathsForPrefetching = ["department"]
      var people: [Person] = []
      let fetching = try stack.statementCount { people = try main.fetch(request) }
      #expect(fetching == 2)
      var names: [String?] = []
      let reading = stack.statementCount { names = people.map { $0.department?.name } }
      #expect(reading == 0)
      #expect(Set(names) == ["Department 0", "Department 1", "Department 2"])
    }
  }

  @Test("Prefetching a path through a to-many relationship costs one statement per entity", arguments: [0, 2])
  func prefetchingToMany(depth: Int) throws {
    let stack = try departments()
    let context = depth == 0 ? stack.main : stack.chain(depth)[depth - 1]
    try context.performAndWait { context in
      var request = FetchRequest<Department>(sortBy: [.ascending("name")])
      request.relationshipKeyPathsForPrefetching = ["employees.department"]
      var departments: [Department] = []
      let fetching = try stack.statementCount { departments = try context.fetch(request) }
      #expect(fetching == 2)
      var ages: [[Int64]] = []
      let reading = stack.statementCount { ages = departments.map { $0.employees.map(\.age).sorted() } }
      #expect(reading == 0)
      #expect(ages == [[0, 1, 2, 3], [10, 11, 12, 13], [20, 21, 22, 23]])
    }
  }

  @Test("Prefetching sees unsaved relationships of the context and its parent")
  func prefetchingPending() throws {
    let stack = try departments()
    try stack.main.performAndWait { main in
      let department = try #require(try main.fetch(FetchRequest<Department>(sortBy: [.ascending("name")])).first)
      Person(context: main).department = department
    }
    try stack.chain(1)[0].performAndWait { child in
      let person = try #require(try child.fetch(FetchRequest<Person>(sortBy: [.descending("age")])).first)
      person.department = nil
      var request = FetchRequest<Department>(sortBy: [.ascending("name")])
      request.relationshipKeyPathsForPrefetching = ["employees"]
      let counts = try child.fetch(request).map { $0.employees.count }
      #expect(counts == [5, 4, 3])
    }
  }

  @Test("Prefetching what is no relationship is an error that names it")
  func prefetchingNothing() throws {
    let stack = try Stack(People.model)
    stack.main.performAndWait { main in
      for path in ["departmend", "age", "department.name"] {
        var request = FetchRequest<Person>()
        request.relationshipKeyPathsForPrefetching = [path]
        let error = #expect(throws: ConditionError.self) { try main.fetch(request) }
        #expect(error?.fragment == path)
      }
    }
  }

  @Test("A fetch gives faults whose values are at hand, or realised objects, or faults without values")
  func faults() throws {
    let stack = try Stack.people(10)
    try stack.main.performAndWait { main in
      let faults = try main.fetch(FetchRequest<Person>())
      #expect(faults.allSatisfy { $0.isFault })
      let reading = stack.statementCount { _ = faults.map(\.age) }
      #expect(reading == 0)
    }
    try stack.main.performAndWait { main in
      var request = FetchRequest<Person>()
      request.returnsObjectsAsFaults = false
      let realised = try main.fetch(request)
      #expect(!realised.contains { $0.isFault })
    }
    let cold = try stack.freshCoordinator()
    try cold.main.performAndWait { main in
      var request = FetchRequest<Person>(sortBy: [.ascending("age")])
      request.includesPropertyValues = false
      var people: [Person] = []
      let fetching = try cold.rowReads { people = try main.fetch(request) }
      #expect(fetching == [])
      var ages: [Int64] = []
      let reading = cold.rowReads { ages = people.map(\.age) }
      #expect(reading == [10])
      #expect(ages == Array(0..<10))
    }
  }
}
