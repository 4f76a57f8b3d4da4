import Foundation
import ObjectGraph
import Testing

@Suite("Predicates")
struct PredicateTests {
  /// Where keepers and their data are while they are asked for: answered in SQL, or in memory.
  enum Place: CaseIterable { case stored, pending }

  private func stack(_ place: Place) throws -> Stack {
    let stack = try Stack(Zoo.model)
    _ = stack.main.performAndWait { Keepers.fill($0) }
    if place == .stored { try stack.flush() }
    return stack
  }

  private func names(_ stack: Stack, _ format: String, _ arguments: [any Sendable] = []) throws -> [String] {
    try stack.main.performAndWait { main in
      let condition = try Condition(format: format, arguments: arguments)
      return try main.fetch(FetchRequest<Keeper>(condition, sortBy: [.ascending("name")])).map(\.name)
    }
  }

  // MARK: What they can say

  @Test(
    "Comparison and compound operators have their aliases, and keywords any case",
    arguments: [
      ("name = 'Anna'", "A"), ("name == 'Anna' || name = \"Bert\"", "AB"), ("name => 'Bert'", "BC"),
      ("name =< 'Bert' && !(name <> 'Anna')", "A"), ("not name beginswith 'A' and name != 'Cleo'", "B"),
      ("name between {'Anna', 'Bert'} or falsepredicate", "AB"), ("truepredicate", "ABC"),
      ("name in {'Anna', 'Cleo'}", "AC"), ("name == null", ""), ("name != Nil", "ABC"),
      ("name in {'Anna', 'Bert', 'Cleo', 'Zoe'}", "ABC"),
      ("name in {}", ""), ("not name in {}", "ABC"),
    ], Place.allCases)
  func operators(predicate: (format: String, expected: String), place: Place) throws {
    #expect(try names(stack(place), predicate.format).compactMap(\.first) == Array(predicate.expected))
  }

  @Test(
    "A text is matched as a whole, searched to its end, and ? is a character of any length", arguments: Place.allCases)
  func wholeTexts(place: Place) throws {
    let stack = try Stack(People.model)
    let cases: [(String, [String])] = [
      ("MATCHES 'b'", ["b"]), ("MATCHES 'a|b'", ["b"]), ("MATCHES '.ber'", ["aber", "über"]),
      ("LIKE '?ber'", ["aber", "über"]),
      ("LIKE '??er'", ["aber", "über"]), ("LIKE '*b'", ["ab", "b"]), ("CONTAINS 'er'", ["aber", "über"]),
      ("CONTAINS 'b'", ["ab", "aber", "b", "über"]), ("ENDSWITH 'b'", ["ab", "b"]),
      ("IN {'ab', 'b', 'zz', 'über'}", ["ab", "b", "über"]),
    ]
    try stack.here.performAndWait { here in
      for name in ["über", "aber", "ab", "b", ""] { Person(context: here).firstName = name }
      if place == .stored { try here.save() }
      for (test, expected) in cases {
        let request = try FetchRequest<Person>(format: "firstName " + test, sortBy: [.ascending(\.firstName)])
        #expect(try here.fetch(request).map { $0.firstName ?? "" } == expected, "\(test)")
      }
    }
  }

  @Test("Objects that a sort does not tell apart come in the order of their keys", arguments: Place.allCases)
  func ties(place: Place) throws {
    let stack = try Stack(People.model)
    try stack.here.performAndWait { here in
      let people = (0..<20).map { _ in Person(context: here) }
      if place == .stored { try here.save() }
      for isAscending in [true, false] {
        let sort: Sort<Person> = isAscending ? .ascending("age") : .descending("age")
        #expect(try here.fetch(FetchRequest<Person>(sortBy: [sort])) == people)
      }
    }
  }

  @Test(
    "BEGINSWITH, ENDSWITH, CONTAINS, LIKE, MATCHES and IN compare texts, with [c], [d] and [n]",
    arguments: [
      ("name BEGINSWITH[c] 'a'", "A"), ("name ENDSWITH 'o'", "C"), ("name CONTAINS[cd] 'É'", "BC"),
      ("name LIKE[c] '?E*'", "B"), ("name MATCHES '[AB].*'", "AB"), ("name ==[n] 'anna'", ""),
      ("name ==[c] 'anna'", "A"), ("name IN[cd] {'ánna', 'BERT'}", "AB"), ("'nn' IN name", "A"),
      ("'NN' IN[c] name", "A"), ("name <[c] 'b'", "A"),
    ], Place.allCases)
  func texts(predicate: (format: String, expected: String), place: Place) throws {
    #expect(try names(stack(place), predicate.format).compactMap(\.first) == Array(predicate.expected))
  }

  @Test(
    "@count, @sum, @min, @max, @avg, SUBQUERY and [SIZE] look at all objects of a relationship",
    arguments: [
      ("shifts.@count == 2", "A"), ("shifts[SIZE] > 0", "AB"), ("shifts.@sum.hours == 12", "A"),
      ("shifts.@sum.hours == 0", "C"), ("shifts.@min.hours == 4", "A"), ("shifts.@max.hours <= 8", "AB"),
      ("shifts.@avg.hours == 6", "A"), ("shifts.@avg.hours == nil", "C"), ("skills.@max.title == 'third'", "B"),
      ("SUBQUERY(shifts, $s, $s.hours > 4).@sum.hours == 8", "A"),
      ("SUBQUERY(shifts, $s, $s.hours < 4)[SIZE] == 1", "B"),
      ("shifts.@sum.hours * 2 > skills.@count + 20", "A"),
      ("SUBQUERY(friends, $f, $f.shifts.@sum.hours == 12).@count == 1", "B"),
    ], Place.allCases)
  func aggregates(predicate: (format: String, expected: String), place: Place) throws {
    #expect(try names(stack(place), predicate.format).compactMap(\.first) == Array(predicate.expected))
  }

  @Test(
    "Arithmetic has its precedence, functions and casts, and literals may be hexadecimal, fractions or exponents",
    arguments: [
      ("1 + 2 * 2 ** 3 == 17", "ABC"), ("(1 + 2) * 2 ** 2 == 0xC", "ABC"), ("shifts.@sum.hours / 5 == 0x2", "A"),
      ("shifts.@sum.hours == .12e2", "A"), ("modulus:by:(shifts.@count, 2) == 1", "B"),
      ("raise:toPower:(shifts.@count, 2) == 4", "A"), ("sqrt:(shifts.@count * 2) == 2", "A"),
      ("trunc:(shifts.@avg.hours / 4) == 1", "A"), ("CAST(shifts.@count, 'NSString') == '2'", "A"),
      ("CAST('2', 'NSNumber') == shifts.@count", "A"), ("length:(name) == 0b100", "ABC"),
      ("-shifts.@count == -2", "A"), ("from:subtract:(shifts.@count, 1) == 1", "A"),
    ], Place.allCases)
  func arithmetic(predicate: (format: String, expected: String), place: Place) throws {
    #expect(try names(stack(place), predicate.format).compactMap(\.first) == Array(predicate.expected))
  }

  @Test(
    "Arguments are values, ranges, collections, objects and their IDs, entities and key paths",
    arguments: Place.allCases)
  func arguments(place: Place) throws {
    let stack = try stack(place)
    #expect(try names(stack, "shifts.@sum.hours BETWEEN %@", [2...3]) == ["Bert"])
    #expect(try names(stack, "shifts.@sum.hours BETWEEN %@", [[2, 12]]) == ["Anna", "Bert"])
    #expect(try names(stack, "%K == %i AND name IN %@", ["shifts.@max.hours", 8, ["Anna", "Bert"]]) == ["Anna"])
    #expect(try names(stack, "%@ IN name", ["er"]) == ["Bert"])
    try stack.main.performAndWait { main in
      let anna = try #require(try main.fetch(FetchRequest<Keeper>(format: "name == %@", "Anna")).first)
      let shifts = try main.fetch(FetchRequest<Shift>(format: "keeper == %@", anna)).map(\.hours)
      #expect(shifts.sorted() == [4, 8])
      for format in ["SELF == %@", "self.objectID == %@", "%@ == SELF", "SELF IN %@", "objectID IN %@"] {
        let argument: Any = format.contains("IN") ? [anna.objectID] : anna
        let found = try main.fetch(FetchRequest<Keeper>(format: format, argument))
        #expect(found == [anna], "\(format)")
      }
      let friend = try main.fetch(FetchRequest<Keeper>(format: "friends CONTAINS %@", anna)).map(\.name)
      #expect(friend == ["Bert"])
      let own = try main.fetch(FetchRequest<Shift>(format: "SELF IN keeper.shifts AND keeper.name == 'Bert'")).map(
        \.hours)
      #expect(own == [2])
      let unkept = try main.count(for: FetchRequest<Shift>(format: "keeper == nil"))
      #expect(unkept == 0)
    }
  }

  @Test("An object's entity can be asked for", arguments: Place.allCases)
  func entities(place: Place) throws {
    let stack = try Stack(Zoo.model)
    stack.main.performAndWait { main in
      let keeper = Keeper(context: main)
      (keeper.name, Dog(context: main).name) = ("Anna", "Rex")
      let cat = Cat(context: main)
      (cat.name, cat.keeper) = ("Tom", keeper)
    }
    if place == .stored { try stack.flush() }
    try stack.main.performAndWait { main in
      let dogs = try main.fetch(FetchRequest<Animal>(format: "entity.name == 'Dog'")).map(\.name)
      #expect(dogs == ["Rex"])
      let cats = try main.fetch(FetchRequest<Animal>(format: "SELF.entity == %@", Zoo.model.entitiesByName["Cat"])).map(
        \.name)
      #expect(cats == ["Tom"])
      let keepers = try main.fetch(FetchRequest<Keeper>(format: "ANY animals.entity.name == 'Cat'")).map(\.name)
      #expect(keepers == ["Anna"])
    }
  }

  @Test("Nil equals nil and nothing else, and NOT turns every other comparison with it true", arguments: Place.allCases)
  func nils(place: Place) throws {
    let stack = try Stack(People.model)
    stack.main.performAndWait { main in
      Person(context: main).lastName = "x"
      _ = Person(context: main)
    }
    if place == .stored { try stack.flush() }
    try stack.main.performAndWait { main in
      for (format, count) in [
        ("lastName == nil", 1), ("lastName != 'x'", 1), ("lastName < 'y'", 1), ("NOT lastName < 'y'", 1),
        ("NOT lastName >= 'a'", 1), ("lastName IN {'x', nil}", 2), ("NOT lastName IN {'y'}", 2),
        ("department.name == nil", 2), ("lastName == firstName", 1), ("lastName == ''", 0),
      ] {
        let found = try main.count(for: FetchRequest<Person>(format: format))
        #expect(found == count, "\(format)")
      }
    }
  }

  @Test("Decimals are compared and computed exactly", arguments: Place.allCases)
  func decimals(place: Place) throws {
    let stack = try Stack(Zoo.model)
    stack.main.performAndWait { main in
      for text in ["0.1", "0.10", "0.3", "12345678901234567890.5"] {
        Everything(context: main).exact = Decimal(string: text)
      }
    }
    if place == .stored { try stack.flush() }
    try stack.main.performAndWait { main in
      for (format, count) in [
        ("exact == 0.1", 2), ("exact + 0.2 == 0.3", 2), ("exact * 3 == 0.3", 2), ("exact > 12345678901234567", 1),
        ("exact == CAST('12345678901234567890.5', 'NSDecimalNumber')", 1), ("floor:(exact) == 0", 3),
      ] {
        let found = try main.count(for: FetchRequest<Everything>(format: format))
        #expect(found == count, "\(format)")
      }
    }
  }

  // MARK: Where they hold

  @Test("A #Predicate and a format string make the same tree")
  func frontEnds() throws {
    let names = ["a", "b"]
    let predicate = #Predicate<Keeper> { keeper in
      names.contains(keeper.name) && keeper.shifts.contains { $0.hours % 2 == 0 }
    }
    let format = try Condition(
      format: "name IN %@ AND SUBQUERY(shifts, $v1, modulus:by:($v1.hours, 2) == 0).@count > 0", names)
    #expect(try Condition(predicate).description == format.description)
  }

  @Test("What a predicate can't express in SQL is an error when the request is made, with the offending part")
  func inexpressible() {
    let ages: [String: Int] = [:]
    #expect(throws: ConditionError.self) { try FetchRequest<Keeper>(#Predicate { ages[$0.name] == 1 }) }
    for (format, fragment) in [
      ("FUNCTION(name, 'reversed') == 'x'", "FUNCTION"), ("median:(shifts.hours) > 2", "median"),
      ("shifts.@distinctUnionOfObjects.hours == 2", "distinctUnionOfObjects"), ("shifts[FIRST].hours == 2", "FIRST"),
      ("CAST(name, 'NSArray') == nil", "'NSArray'"),
    ] {
      let error = #expect(throws: ConditionError.self) { try FetchRequest<Keeper>(format: format) }
      #expect(error?.fragment == fragment)
      #expect(error?.column == format.distance(from: format.startIndex, to: format.range(of: fragment)!.lowerBound) + 1)
    }
  }

  @Test("A transient attribute can't be fetched by, but objects in memory can be tested for it")
  func transients() throws {
    let stack = try Stack(Zoo.model)
    try stack.main.performAndWait { main in
      let (first, second) = (Everything(context: main), Everything(context: main))
      (first.scratch, second.scratch) = ("note", nil)
      let condition = try Condition(format: "scratch == 'note'")
      let error = #expect(throws: ConditionError.self) { try main.fetch(FetchRequest<Everything>(condition)) }
      #expect(error?.description.contains("Everything.scratch is transient") == true)
      #expect(try condition.evaluate(with: first))
      #expect(try !condition.evaluate(with: second))
      #expect(try [first, second].filtered(by: condition) == [first])
    }
  }

  @Test("Objects in memory are tested with their unsaved values and relationships, without a fetch")
  func evaluation() throws {
    let stack = try stack(.stored)
    try stack.main.performAndWait { main in
      let keepers = try main.fetch(FetchRequest<Keeper>(sortBy: [.ascending("name")]))
      keepers[2].name = "Zoe"
      keepers[2].friends = [keepers[0]]
      for shift in keepers[0].shifts { shift.hours += 1 }
      for (format, expected) in [
        ("name == 'Zoe'", [2]), ("ANY friends.name == 'Anna'", [1, 2]), ("shifts.@sum.hours == 14", [0]),
        ("SUBQUERY(friends, $f, $f.shifts.@max.hours == 9).@count > 0", [1, 2]), ("name == 'Cleo'", []),
      ] as [(String, [Int])] {
        let found = try keepers.filtered(by: try Condition(format: format))
        #expect(found == expected.map { keepers[$0] }, "\(format)")
      }
      #expect(throws: ConditionError.self) { try keepers.filtered(by: Condition(format: "nothing == 1")) }
    }
  }
}
