import Foundation
@testable import ObjectGraph
import Testing

@Suite("Predicates over to-many relationships, and computed values")
struct ToManyPredicateTests {
  /// Where keepers and their data are while they are asked for.
  enum Place: CaseIterable { case stored, pendingHere, pendingInParent }

  private func names(
    _ format: String, _ context: isolated ManagedObjectContext, _ arguments: [Any?] = []
  ) throws -> [String] {
    let request = FetchRequest<Keeper>(
      try Condition(format: format, arguments: arguments), sortBy: [.ascending("name")])
    let found = try context.fetch(request).map(\.name)
    #expect(try context.count(for: request) == found.count)
    return found
  }

  @Test("Both front ends and both back ends agree on each kind", arguments: Place.allCases, [true, false])
  func kinds(place: Place, inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    let diving = stack.main.performAndWait { Keepers.fill($0) }
    if place == .stored { try stack.flush() }
    let child = ManagedObjectContext(parent: stack.main, name: "child")
    try (place == .pendingInParent ? child : stack.main).performAndWait { context in
      for (format, expected) in [
        ("ANY shifts.hours > 5", ["Anna"]), ("ALL shifts.hours < 5", ["Bert", "Cleo"]),
        ("NONE shifts.hours == 2", ["Anna", "Cleo"]), ("ANY skills.title BEGINSWITH 'd'", ["Anna"]),
        ("SOME skills.title IN {'third', 'diving'}", ["Anna", "Bert"]),
        ("ANY skills.level BETWEEN {5, 9}", ["Anna"]), ("shifts.@count == 2", ["Anna"]),
        ("shifts.@count > skills.@count - 1", ["Anna", "Cleo"]), ("skills.@count == 0", ["Cleo"]),
        ("SUBQUERY(shifts, $s, $s.hours >= 2 AND $s.hours <= 4).@count == 1", ["Anna", "Bert"]),
        ("SUBQUERY(shifts, $s, $s.hours > 5).@count > 0", ["Anna"]),
        ("SUBQUERY(friends, $f, SUBQUERY($f.shifts, $s, $s.hours > 5).@count > 0).@count == 1", ["Bert"]),
        ("SUBQUERY(shifts, $s, $s.keeper == SELF AND $s.keeper.name == name).@count == 1", ["Bert"]),
        ("ANY friends.skills.title == 'diving'", ["Bert"]),
        ("lowercase:(name) == 'anna'", ["Anna"]), ("length:(name) + 1 = 5 AND uppercase:(name) ENDSWITH 'O'", ["Cleo"]),
        ("(skills.@count * 2 + 1) / 2 = 2", ["Anna", "Bert"]), ("abs:(0 - skills.@count) = 2", ["Anna", "Bert"]),
        ("1 / shifts.@count == 1", ["Bert"]), ("NOT (1 / shifts.@count > 0)", ["Anna", "Cleo"]),
        ("NOT (ANY shifts.hours > 5) AND (shifts.@count > 0)", ["Bert"]),
      ] as [(String, [String])] {
        #expect(try names(format, context) == expected, "\(format)")
        let text = try Condition(format: format).description
        #expect(try names(text, context) == expected, "\(text)")
      }
      #expect(try names("%@ IN skills", context, [diving]) == ["Anna"])
      #expect(try names("skills CONTAINS %@", context, [diving]) == ["Anna"])
      #expect(try names("ANY skills == %@", context, [diving]) == ["Anna"])
      #expect(try names("%K > 1", context, ["shifts.@count"]) == ["Anna"])
      let request = FetchRequest<Keeper>(try Condition(format: "name == 'Anna'"))
      let anna = try #require(try context.fetchIDs(request).first)
      #expect(try names("SELF IN %@", context, [[anna]]) == ["Anna"])
      #expect(try names("SELF == %@", context, [anna]) == ["Anna"])
      // Places in the order of keys.
      #expect(try names("SELF >= %@ AND SELF <= %@", context, [anna, anna]) == ["Anna"])
      let (before, behind) = (try names("SELF < %@", context, [anna]), try names("%@ < SELF", context, [anna]))
      #expect(Set(before + behind) == ["Bert", "Cleo"] && before.count + behind.count == 2)
    }
  }

  @Test("#Predicate: contains(where:), allSatisfy, count, isEmpty, filter and arithmetic", arguments: [true, false])
  func foundationPredicates(stored: Bool) throws {
    let stack = try Stack(Zoo.model)
    _ = stack.main.performAndWait { Keepers.fill($0) }
    if stored { try stack.flush() }
    let cases: [(Predicate<Keeper>, [String])] = [
      (#Predicate { $0.shifts.contains { $0.hours > 5 } }, ["Anna"]),
      (#Predicate { $0.shifts.allSatisfy { $0.hours < 5 } }, ["Bert", "Cleo"]),
      (#Predicate { $0.skills.count == 2 }, ["Anna", "Bert"]),
      (#Predicate { $0.skills.isEmpty }, ["Cleo"]),
      (#Predicate { $0.shifts.filter { $0.hours > 3 }.count == 2 }, ["Anna"]),
      (#Predicate { keeper in keeper.friends.contains { $0.shifts.contains { $0.hours > 5 } } }, ["Bert"]),
      (#Predicate { keeper in keeper.friends.contains { $0.name != keeper.name } }, ["Anna", "Bert", "Cleo"]),
      (#Predicate { $0.shifts.filter { $0.hours > 1 }.contains { $0.hours * 2 + 1 == 5 } }, ["Bert"]),
      (#Predicate { $0.shifts.count - $0.skills.count == 0 && $0.shifts.count / 2 == 1 }, ["Anna"]),
    ]
    for (predicate, expected) in cases {
      let condition = try Condition(predicate)
      try stack.main.performAndWait { main in
        let request = FetchRequest<Keeper>(condition, sortBy: [.ascending("name")])
        let found = try main.fetch(request).map(\.name)
        #expect(found == expected, "\(condition)")
      }
    }
  }

  @Test("A pending change of a related object counts, though the object itself has none", arguments: [true, false])
  func disturbed(inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    let diving = stack.main.performAndWait { Keepers.fill($0) }
    try stack.flush()
    let child = ManagedObjectContext(parent: stack.main, name: "child")
    try stack.main.performAndWait { main in
      for shift in try main.fetch(FetchRequest<Shift>()) { shift.hours += 10 }
      (main.object(with: diving) as? Skill)?.title = "sinking"
      #expect(try names("ANY shifts.hours < 12", main).isEmpty)
      #expect(try names("ANY shifts.hours == 12", main) == ["Bert"])
      main.processPendingChanges()
    }
    try child.performAndWait { child in
      #expect(try names("ALL shifts.hours >= 14", child) == ["Anna", "Cleo"])
      #expect(try names("ANY skills.title == 'sinking'", child) == ["Anna"])
      let shifts = try child.fetch(FetchRequest<Shift>(try Condition(format: "keeper.name == 'Anna'")))
      shifts.first?.keeper?.name = "Zora"
      let counts = try ["Zora", "Anna"].map { name in
        try child.count(for: FetchRequest<Shift>(try Condition(format: "keeper.name == %@", name)))
      }
      #expect(counts == [2, 0])
      shifts.forEach(child.delete)
      #expect(try names("shifts.@count == 0", child) == ["Cleo", "Zora"])
    }
  }

  @Test(
    "What does not fit the model or has no equivalent in SQL is an error that quotes it",
    arguments: [
      ("shifts.hours > 5", "shifts.hours"), ("ANY name == 'x'", "name"), ("name.@count = 1", "name"),
      ("name + 1 = 2", "(name + 1)"), ("SUBQUERY(shifts, $s, $t.hours > 1).@count > 0", "$t"),
      ("ANY shifts.nothing > 1", "nothing"), ("abs:(name) = 1", "abs:(name)"),
    ])
  func errors(format: String, fragment: String) throws {
    let stack = try Stack(Zoo.model)
    stack.main.performAndWait { main in
      let error = #expect(throws: ConditionError.self) {
        try main.count(for: FetchRequest<Keeper>(try Condition(format: format)))
      }
      #expect(error?.fragment == fragment, "\(String(describing: error))")
    }
  }

  @Test("Arithmetic is SQLite's: whole numbers stay whole, what overflows becomes real, nil and zero give nil")
  func arithmetic() {
    let (max, min) = (ComputedValue.integer(.max), ComputedValue.integer(.min))
    #expect(ComputedValue.compute(.integer(7), .divide, right: .integer(-2)) == .integer(-3))
    #expect(ComputedValue.compute(.integer(7), .divide, right: .real(2)) == .real(3.5))
    #expect(ComputedValue.compute(.integer(7), .divide, right: .integer(0)) == .null)
    #expect(ComputedValue.compute(max, .add, right: .integer(1)) == .real(0x1p63))
    #expect(ComputedValue.compute(min, .divide, right: .integer(-1)) == .real(0x1p63))
    #expect(ComputedValue.compute(.real(.infinity), .subtract, right: .real(.infinity)) == .null)
    #expect(ComputedValue.compute(.null, .multiply, right: .integer(1)) == .null)
    #expect(min.applying(.absolute) == .real(0x1p63))
  }
}
