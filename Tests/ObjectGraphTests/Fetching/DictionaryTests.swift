import Foundation
import ObjectGraph
import Testing

@Suite("Dictionaries and aggregates")
struct DictionaryTests {
  private let stack: Stack

  /// Persons of ages 0...9, whose last names are "even" and "odd"; the even ones work for ACME. One has no first name.
  init() throws {
    stack = try Stack(People.model)
    try stack.writer.performAndWait { writer in
      let acme = Department(context: writer)
      acme.name = "ACME"
      for age in 0..<10 {
        let person = Person(context: writer)
        person.age = Int64(age)
        person.lastName = age % 2 == 0 ? "even" : "odd"
        person.firstName = age == 3 ? nil : "P\(age)"
        if age % 2 == 0 { person.department = acme }
      }
      try writer.save()
    }
  }

  private func dictionaries(
    pending: Bool = false, _ change: @Sendable (inout FetchRequest<Person>) -> Void
  ) throws -> [[String: Value]] {
    var request = FetchRequest<Person>()
    change(&request)
    return try stack.main.performAndWait { [request] in
      try $0.fetchDictionaries(request, includingPendingChanges: pending)
    }
  }

  @Test("A value of a dictionary is read as a Swift type that holds it, and shows as people read it")
  func values() {
    #expect(Value.integer(7).typed(as: Int.self) == 7 && Value.integer(7).typed(as: Double.self) == 7)
    #expect(Value.integer(300).typed(as: UInt8.self) == nil && Value.integer(7).typed(as: String.self) == nil)
    #expect(Value.string("Ada").typed(as: String.self) == "Ada" && Value.null.typed(as: String.self) == nil)
    #expect(Value.boolean(true).typed(as: Bool.self) == true && Value.double(0.5).typed(as: Double.self) == 0.5)
    let date = Date(timeIntervalSinceReferenceDate: 0)
    #expect(Value.date(date).typed(as: Date.self) == date)
    let shown = [Value.integer(7), .string("Ada"), .null, .date(date), .data(Data(count: 3)), .double(0.5)]
    #expect(shown.map { "\($0)" } == ["7", "Ada", "nil", "2001-01-01T00:00:00Z", "3 bytes", "0.5"])
  }

  @Test("A dictionary holds the properties that are asked for, through relationships too, and registers no object")
  func properties() throws {
    let found = try dictionaries {
      $0 = FetchRequest(sortBy: [.ascending("age")], limit: 2)
      $0.propertiesToFetch = ["age", "firstName", "department.name", .value(.integer(7), as: "seven")]
    }
    #expect(
      found == [
        ["age": 0, "firstName": "P0", "department.name": "ACME", "seven": 7],
        ["age": 1, "firstName": "P1", "department.name": nil, "seven": 7],
      ])
    stack.main.performAndWait { #expect($0.registeredObjects.isEmpty) }
  }

  @Test("A dictionary holds all stored properties if none is named; IDs and destinations as URIs")
  func allProperties() throws {
    let id = try #require(try stack.ids(0...0).first)
    let found = try dictionaries { $0.condition = .compare(.keyPath(["age"]), .equal, .value(0), []) }
    #expect(found.first.map { Set($0.keys) } == ["firstName", "lastName", "age", "department"])
    let ids = try dictionaries {
      $0 = .people(0...0)
      $0.propertiesToFetch = [.objectID(), "department"]
    }
    #expect(ids.first?["objectID"] == id.uriRepresentation.map(Value.url))
    guard case .url(let uri)? = ids.first?["department"] else { throw ConditionError(.argument, "no URI") }
    #expect(stack.coordinator.objectID(for: uri)?.entity?.name == "Department")
  }

  @Test("count, sum, min, max and average over all rows make one dictionary")
  func aggregates() throws {
    let found = try dictionaries {
      $0.propertiesToFetch = [
        .count(), .count("firstName", as: "named"), .sum("age"), .min("age"), .max("age"), .average("age"),
        .max("firstName", as: "last"),
      ]
    }
    #expect(
      found == [
        ["count": 10, "named": 9, "sum": 45, "min": 0, "max": 9, "average": 4.5, "last": "P9"]
      ])
  }

  @Test("Aggregates of no rows are 0 for count and sum, and nil for the others")
  func emptyAggregates() throws {
    let found = try dictionaries {
      $0.condition = .constant(false)
      $0.propertiesToFetch = [.count(), .sum("age"), .min("age"), .max("age"), .average("age")]
    }
    #expect(found == [["count": 0, "sum": 0, "min": nil, "max": nil, "average": nil]])
  }

  @Test("Group-by makes one dictionary per group, having chooses groups, and groups are sorted by their entries")
  func groups() throws {
    let found = try dictionaries {
      $0 = FetchRequest(sortBy: [.descending("total")])
      $0.propertiesToFetch = ["lastName", .count(), .sum("age", as: "total")]
      $0.propertiesToGroupBy = ["lastName"]
    }
    #expect(
      found == [["lastName": "odd", "count": 5, "total": 25], ["lastName": "even", "count": 5, "total": 20]])
    let chosen = try dictionaries {
      $0.propertiesToFetch = ["department.name", .sum("age", as: "total"), .value(.string("x"), as: "mark")]
      $0.propertiesToGroupBy = ["department.name"]
      $0.havingCondition = .compare(.keyPath(["total"]), .less, .value(25), [])
    }
    #expect(chosen == [["department.name": "ACME", "total": 20, "mark": "x"]])
    let byPath = try dictionaries {
      $0.propertiesToFetch = ["department.name", .count()]
      $0.propertiesToGroupBy = ["department.name"]
      $0.havingCondition = .isNull(.keyPath(["department", "name"]))
    }
    #expect(byPath == [["department.name": nil, "count": 5]])
  }

  @Test("Limit and offset count groups, not rows")
  func limitedGroups() throws {
    let found = try dictionaries {
      $0 = FetchRequest(sortBy: [.ascending("lastName")], limit: 1)
      $0.fetchOffset = 1
      $0.propertiesToFetch = ["lastName", .count()]
      $0.propertiesToGroupBy = ["lastName"]
    }
    #expect(found == [["lastName": "odd", "count": 5]])
  }

  @Test(
    "What a group has no single value of, having without groups, and names that occur twice are errors that name them")
  func rules() throws {
    let mistakes: [(String?, @Sendable (inout FetchRequest<Person>) -> Void)] = [
      (
        "firstName",
        {
          $0.propertiesToFetch = ["firstName", .count()]
          $0.propertiesToGroupBy = ["lastName"]
        }
      ),
      ("age", { $0.propertiesToFetch = ["age", .count()] }),
      (nil, { $0.havingCondition = .constant(true) }),
      ("count", { $0.propertiesToFetch = [.count(), .count("age")] }),
      ("firstName", { $0.propertiesToFetch = [.sum("firstName")] }),
      ("department", { $0.propertiesToFetch = [.max("department")] }),
      ("agee", { $0.propertiesToFetch = [.max("agee")] }),
      (
        "firstName",
        {
          $0.propertiesToFetch = ["lastName", .count()]
          $0.propertiesToGroupBy = ["lastName"]
          $0.havingCondition = .isNull(.keyPath(["firstName"]))
        }
      ),
    ]
    for (fragment, mistake) in mistakes {
      let error = #expect(throws: ConditionError.self) { try dictionaries(mistake) }
      #expect(error?.fragment == fragment)
    }
  }

  @Test("Distinct results are for dictionaries only, keep their order, and are counted by limit and offset")
  func distinct() throws {
    let found = try dictionaries {
      $0 = FetchRequest(sortBy: [.ascending("age")])
      $0.propertiesToFetch = ["lastName"]
      $0.returnsDistinctResults = true
    }
    #expect(found == [["lastName": "even"], ["lastName": "odd"]])
    let second = try dictionaries {
      $0 = FetchRequest(sortBy: [.ascending("age")], limit: 1)
      $0.fetchOffset = 1
      $0.propertiesToFetch = ["lastName"]
      $0.returnsDistinctResults = true
    }
    #expect(second == [["lastName": "odd"]])
    var request = FetchRequest<Person>()
    request.returnsDistinctResults = true
    request.propertiesToFetch = ["lastName"]
    let count = try stack.main.performAndWait { [request] in try $0.fetch(request).count }
    #expect(count == 10)
  }

  @Test("Aggregates reflect the store unless pending changes are asked for")
  func pendingChanges() throws {
    stack.main.performAndWait { main in
      let person = Person(context: main)
      person.age = 100
    }
    let sum: @Sendable (inout FetchRequest<Person>) -> Void = { $0.propertiesToFetch = [.sum("age"), .count()] }
    #expect(try dictionaries(sum) == [["sum": 45, "count": 10]])
    #expect(try dictionaries(pending: true, sum) == [["sum": 145, "count": 11]])
  }

  @Test("A sum of integers beyond 64 bits is an error, not a wrong number")
  func overflow() throws {
    try stack.writer.performAndWait { writer in
      for _ in 0..<2 { Person(context: writer).age = .max }
      try writer.save()
    }
    let error = #expect(throws: StoreError.self) { try dictionaries { $0.propertiesToFetch = [.sum("age")] } }
    #expect(error?.code == .unsupported)
    #expect(error?.message == "a sum of integers exceeds 64 bits")
  }

  @Test("Decimals are summed and averaged exactly")
  func decimals() throws {
    let stack = try Stack(Zoo.model)
    let found = try stack.main.performAndWait { main in
      for exact in ["0.1", "0.2", "0.6"] {
        let everything = main.insertObject(ofEntity: "Everything")
        everything.setValue(Decimal(string: exact), forKey: "exact")
      }
      var request = FetchRequest<ManagedObject>(entity: "Everything", nil)
      request.propertiesToFetch = [.sum("exact"), .average("exact"), .min("exact"), .max("exact")]
      return try main.fetchDictionaries(request, includingPendingChanges: true)
    }
    let expected: [String: String] = ["sum": "0.9", "average": "0.3", "min": "0.1", "max": "0.6"]
    #expect(found == [expected.mapValues { .decimal(Decimal(string: $0) ?? 0) }])
  }
}
