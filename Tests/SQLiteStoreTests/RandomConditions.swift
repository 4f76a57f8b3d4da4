import Foundation
import ObjectGraph
import ObjectModel

/// Numbers that are the same in each run (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

/// Makes conditions on people at random, from values near those that the people have.
struct RandomConditions {
  static let texts = [
    "", "a", "A", "ab", "AB", "abc", "É", "é", "e\u{301}", "e", "ß", "z", "a\0b", "%", "a*", "?", "\u{1F600}",
    "\u{D7FF}", "\u{E000}", "\u{FFFF}", "\u{10FFFF}", "\u{10FFFF}x", "a\\b", "İ",
  ]
  static let integers: [Int64] = [.min, -1, 0, 1, 2, 3, 70_000, 9_007_199_254_740_993, .max]
  static let reals: [Double] = [
    -.infinity, -1e300, -1, -0.0, 0, 0.5, 1, 2.5, 9_007_199_254_740_992, 0x1p63, .infinity,
  ]
  static let decimals = [
    "0", "0.00", "-1.50", "-1.5", "1.5", "10", "9.999", "0.001", "-0.001", "123456789012345678901",
  ]
  static let uuids = [1, 2, 255].map { UUID(uuid: ($0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, $0)) }
  static let pages = ["http://a.example", "http://b.example/x", "HTTP://A.example"]
  private static let patterns = ["a*", "?", "??", "*b*", "\\*", "a\\*", "*", "", "É", "*\u{301}"]
  private static let expressions = ["a.*", ".", "(?:a|ab)", "[[:alpha:]]*", "É?", ""]

  var generator: SeededGenerator
  let people: [ManagedObjectID]
  let companies: [ManagedObjectID]
  /// An object of another stack.
  let stranger: ManagedObjectID

  private mutating func one<Element>(_ list: [Element]) -> Element {
    list[Int.random(in: 0..<list.count, using: &generator)]
  }

  private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percent }

  mutating func condition(depth: Int = 0) -> Condition {
    if depth < 3, chance(55) {
      switch Int.random(in: 0..<3, using: &generator) {
      case 0: return .not(condition(depth: depth + 1))
      case 1: return .and((0..<Int.random(in: 0..<4, using: &generator)).map { _ in condition(depth: depth + 1) })
      default: return .or((0..<Int.random(in: 0..<4, using: &generator)).map { _ in condition(depth: depth + 1) })
      }
    }
    return leaf()
  }

  private mutating func leaf() -> Condition {
    switch Int.random(in: 0..<12, using: &generator) {
    case 0, 1, 2: return textSearch()
    case 3: return .isNull(.keyPath(one([["name"], ["age"], ["employer"], ["employer", "name"], ["pet"], ["icon"]])))
    case 4: return objects()
    case 5: return .constant(chance(50))
    default: return values()
    }
  }

  private mutating func textSearch() -> Condition {
    let options = Condition.TextOptions(rawValue: UInt8.random(in: 0..<4, using: &generator))
    let path = Operand.keyPath(one([["name"], ["employer", "name"], ["pet", "name"]]))
    switch Int.random(in: 0..<6, using: &generator) {
    case 0: return .compare(path, .like, .value(.string(one(Self.patterns))), options)
    case 1: return .compare(path, .matches, .value(.string(one(Self.expressions))), options)
    case 2: return .isIn(path, texts(count: Int.random(in: 0..<4, using: &generator)), options)
    case 3: return .isIn(path, texts(count: 80), options)
    default:
      let comparison = one([
        Condition.Comparison.beginsWith, .endsWith, .contains, .equal, .notEqual, .less, .lessOrEqual, .greater,
      ])
      let other: Operand =
        chance(15) ? .keyPath(one([["name"], ["employer", "name"]])) : .value(.string(one(Self.texts)))
      return chance(10) ? .compare(other, comparison, path, options) : .compare(path, comparison, other, options)
    }
  }

  private mutating func texts(count: Int) -> [Operand] {
    (0..<count).map { _ in chance(10) ? .value(.null) : .value(.string(one(Self.texts))) }
  }

  private mutating func objects() -> Condition {
    switch Int.random(in: 0..<4, using: &generator) {
    case 0:
      let company = Operand.object(one(companies + [stranger]))
      return .compare(.keyPath(["employer"]), chance(50) ? .equal : .notEqual, company, [])
    case 1: return .isIn(.keyPath(["employer"]), [.object(one(companies)), .object(stranger)], [])
    case 2: return .isIn(.evaluatedObject, (0..<3).map { _ in .object(one(people)) }, [])
    default: return .compare(.evaluatedObject, chance(50) ? .equal : .notEqual, .object(one(people)), [])
    }
  }

  private mutating func values() -> Condition {
    let (path, constants) = operands()
    let comparison = one([Condition.Comparison.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual])
    switch Int.random(in: 0..<6, using: &generator) {
    case 0: return .between(path, lower: .value(one(constants)), upper: .value(one(constants)))
    case 1: return .isIn(path, (0..<3).map { _ in .value(one(constants)) }, [])
    case 2 where constants.count > 8:
      return .compare(.keyPath(["age"]), comparison, .keyPath(one([["score"], ["wealth"], ["age"]])), [])
    case 3: return .compare(.value(one(constants)), comparison, path, [])
    default: return .compare(path, comparison, chance(10) ? .value(.null) : .value(one(constants)), [])
    }
  }

  /// A path and constants of its type, nil among them.
  private mutating func operands() -> (Operand, [Value]) {
    let numbers = Self.integers.map(Value.integer) + Self.reals.map(Value.double)
    let choices: [(String, [Value])] = [
      ("age", numbers), ("score", numbers), ("isMember", [true, false, 0, 1]),
      ("born", Self.reals.filter(\.isFinite).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }),
      ("wealth", Self.decimals.compactMap { Decimal(string: $0).map(Value.decimal) } + [1, 1.5]),
      ("identity", Self.uuids.map(Value.uuid)), ("page", Self.pages.compactMap { URL(string: $0).map(Value.url) }),
    ]
    let (name, constants) = one(choices)
    return (.keyPath([name]), constants + [.null])
  }

  mutating func sorts() -> [ResolvedSort] {
    (0..<Int.random(in: 0..<3, using: &generator)).map { _ in
      let path = one([
        ["name"], ["age"], ["score"], ["wealth"], ["born"], ["identity"], ["page"], ["isMember"], ["employer", "name"],
        ["pet", "name"],
      ])
      let isText = ["name", "page"].contains(path[path.count - 1])
      return ResolvedSort(keyPath: path, isAscending: chance(50), isCaseInsensitive: isText && chance(30))
    }
  }
}
