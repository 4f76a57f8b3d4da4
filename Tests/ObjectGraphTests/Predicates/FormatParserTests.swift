import Foundation
import ObjectGraph
import Testing

@Suite("Format strings")
struct FormatParserTests {
  private static let age = Operand.keyPath(["age"])
  private static let name = Operand.keyPath(["name"])

  @Test(
    "are read as conditions",
    arguments: [
      ("age >= 1", .compare(age, .greaterOrEqual, .value(1), [])),
      ("age => 1", .compare(age, .greaterOrEqual, .value(1), [])),
      ("age = -1", .compare(age, .equal, .value(-1), [])),
      ("age <> 1.5e1", .compare(age, .notEqual, .value(15.0), [])),
      ("age == nil", .compare(age, .equal, .value(nil), [])),
      (
        "name beginswith[cd] 'a\\'\\u00e9'",
        .compare(name, .beginsWith, .value("a'é"), [.caseInsensitive, .diacriticInsensitive])
      ),
      ("name LIKE[c] \"a*\"", .compare(name, .like, .value("a*"), .caseInsensitive)),
      ("department.name = 'x'", .compare(.keyPath(["department", "name"]), .equal, .value("x"), [])),
      ("#in.#like == YES", .compare(.keyPath(["in", "like"]), .equal, .value(true), [])),
      ("age BETWEEN {1, $top}", .between(age, lower: .value(1), upper: .variable("top"))),
      ("age IN {}", .isIn(age, [], [])),
      ("SELF == $me", .compare(.evaluatedObject, .equal, .variable("me"), [])),
      ("a=1 OR b=2 AND NOT c=3", .or([equal("a", 1), .and([equal("b", 2), .not(equal("c", 3))])])),
      ("(a=1 || b=2) && !c=3", .and([.or([equal("a", 1), equal("b", 2)]), .not(equal("c", 3))])),
      ("TRUEPREDICATE", .constant(true)),
    ] as [(String, Condition)])
  func reading(format: String, expected: Condition) throws {
    let condition = try Condition(format: format)
    #expect(condition == expected)
    #expect(try Condition(format: condition.description) == expected, "\(condition)")
  }

  private static func equal(_ name: String, _ value: Value) -> Condition {
    .compare(.keyPath([name]), .equal, .value(value), [])
  }

  @Test("take arguments in order")
  func arguments() throws {
    let id = UUID()
    let condition = try Condition(format: "%K == %@ AND a.b IN %@ AND c > %ld AND d < %f", "x.y", id, [1, 2], 3, 4.5)
    #expect(
      condition
        == .and([
          .compare(.keyPath(["x", "y"]), .equal, .value(.uuid(id)), []),
          .isIn(.keyPath(["a", "b"]), [.value(1), .value(2)], []),
          .compare(.keyPath(["c"]), .greater, .value(3), []), .compare(.keyPath(["d"]), .less, .value(4.5), []),
        ]))
    #expect(try Condition(format: "a == %@", nil) == Self.equal("a", nil))
  }

  @Test("take key paths with more of a path behind them")
  func longerPaths() throws {
    #expect(try Condition(format: "%K.@count > 0", "orders") == Condition(format: "orders.@count > 0"))
    #expect(try Condition(format: "%K[SIZE] > 0", "orders") == Condition(format: "orders[SIZE] > 0"))
    #expect(try Condition(format: "%K.name == 'x'", "a.b") == Condition(format: "a.b.name == 'x'"))
    #expect(try Condition(format: "ANY %K.%K > 3", "orders", "total") == Condition(format: "ANY orders.total > 3"))
    #expect(throws: ConditionError.self) { try Condition(format: "%K.%K > 3", "orders", 1) }
  }

  @Test("take values for variables later")
  func variables() throws {
    let condition = try Condition(format: "age > $low AND name IN $names")
    #expect(
      try condition.substituting(["low": 3, "names": ["a", "b"]])
        == .and([.compare(Self.age, .greater, .value(3), []), .isIn(Self.name, [.value("a"), .value("b")], [])]))
    #expect(throws: ConditionError.self) { try condition.substituting(["low": [1, 2]]) }
  }

  @Test(
    "that are wrong tell where",
    arguments: [
      ("", 1, nil), ("age >", 6, nil), ("age > > 1", 7, ">"), ("age = 1 name = 2", 9, "name"),
      ("name = 'abc", 8, "'abc"),
      ("(age = 1", 9, nil), ("age", 4, nil), ("name = 'a\\d'", 10, "\\d"), ("age = 1x", 7, "1x"), ("age = 1e", 7, "1e"),
      ("ANY pets.name", 14, nil), ("pets.@sum > 1", 7, "sum"), ("pets.@mean.age > 1", 7, "mean"), ("age + > 2", 7, ">"),
      ("in = 1", 1, "in"),
      ("sum:(age) = 3", 1, "sum"), ("SUBQUERY(pets, x, age = 1).@count = 1", 16, "x"), ("(age + 1 = 2", 13, nil),
      ("SUBQUERY(pets, $x, age = 1) = 1", 29, "="),
      ("age = %@", 7, "%@"), ("age = %q", 7, "%q"), ("é = 1 ~", 7, "~"), ("name =[x] 'a'", 8, "x"),
      ("age = 1234567890123456789012345678901234567890", 7, "1234567890123456789012345678901234567890"),
      ("age BETWEEN {1}", 13, "{"),
      ("age BETWEEN {1, 2, 3}", 13, "{"), (#"name = '\u41'"#, 9, #"\u41'"#),
      (#"name = '\u041 '"#, 9, #"\u041 "#),
      ("age IN 3", 8, "3"), ("sum(age) = 3", 4, "("), ("$ = 1", 1, "$"), ("age = 0xG", 7, "0xG"),
      ("CAST(age, 'NSArray') = 1", 11, "'NSArray'"), ("FUNCTION(age, 'f') = 1", 1, "FUNCTION"),
      ("pets[FIRST] = 1", 6, "FIRST"),
      ("SELF.@count = 1", 6, "@"), ("SELF[SIZE] = 1", 5, "["),
      ("modulus:by:(age) = 1", 16, ")"), ("name =[l] 'a'", 8, "l"),
    ] as [(String, Int, String?)])
  func errors(format: String, column: Int, fragment: String?) {
    let error = #expect(throws: ConditionError.self) { try Condition(format: format) }
    #expect(error?.column == column)
    #expect(error?.fragment == fragment)
  }

  @Test("with an unknown function name those that there are")
  func unknownFunction() {
    let error = #expect(throws: ConditionError.self) { try Condition(format: "count:(people) > 2") }
    #expect(error?.description.contains("no such function in predicates, only abs:, ceiling:, floor:, ") == true)
    #expect(error?.description.contains("range") == false)
  }

  @Test("with too many or unfit arguments are refused")
  func unfitArguments() {
    func refusal(_ format: String, _ argument: Any) -> ConditionError? {
      let error = #expect(throws: ConditionError.self) { try Condition(format: format, argument) }
      #expect(error?.code == .argument, "\(format)")
      return error
    }
    #expect(refusal("age = 1", 2)?.description == "the format string takes 0 arguments, but 1 were given")
    #expect(refusal("age = %d", "x")?.column == 7)
    #expect(refusal("%K = 1", 1)?.column == 1)
    #expect(refusal("age = %@", [1])?.column == 7)
    #expect(refusal("age = %@", Unfit())?.column == 7)
  }

  private struct Unfit: Sendable {}

  @Test("of any depth and any bytes end in a condition or an error")
  func hostileText() throws {
    for text in ["(", "NOT ", "!", "-", "{", "a.", "'"] {
      #expect(throws: ConditionError.self) { try Condition(format: String(repeating: text, count: 100_000)) }
    }
    let seeds = [
      "age >= %@ AND name BEGINSWITH[c] 'a'", "NOT (a.b IN {1, 2.5e3, \"x\\n\"} OR #in == nil)",
      "a BETWEEN $x && SELF == %K",
    ].map { Array($0.utf8) }
    let arguments: [[Any?]] = [[1], [], ["k"]]
    var state: UInt64 = 1
    func random(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    var readable = 0
    for round in 0..<6_000 {
      var bytes = seeds[round % seeds.count]
      for _ in 0...random(4) {
        switch random(3) {
        case 0: bytes[random(bytes.count)] = UInt8(random(256))
        case 1: bytes.remove(at: random(bytes.count))
        default: bytes.insert(bytes[random(bytes.count)], at: random(bytes.count))
        }
      }
      let format = String(decoding: bytes, as: UTF8.self)
      guard let condition = try? Condition(format: format, arguments: arguments[round % 3]) else { continue }
      readable += 1
      let text = condition.description
      #expect(try Condition(format: text).description == text)
    }
    #expect(readable > 100)
  }
}
