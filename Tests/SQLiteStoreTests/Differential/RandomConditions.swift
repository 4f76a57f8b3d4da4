import Foundation
import ObjectGraph
import TestSupport

/// Makes conditions on the nodes of ``RandomData`` at random: all of the grammar, of values near those that are there.
struct RandomConditions {
  /// The entity that a path begins at.
  enum Kind { case node, tag }
  typealias Variable = (name: String, kind: Kind)

  var generator: SeededGenerator
  let data: RandomData
  /// An object of another stack.
  let stranger: ManagedObjectID
  /// How many more parts the condition at hand may have.
  var budget = 0

  private static let patterns = ["a*", "?", "??", "*b*", "\\*", "a\\*", "*", "", "É", "*\u{301}"]
  private static let expressions = ["a.*", ".", "(?:a|ab)", "[[:alpha:]]*", "É?", ""]

  init(data: RandomData, stranger: ManagedObjectID, seed: UInt64) {
    self.data = data
    self.stranger = stranger
    generator = SeededGenerator(seed: seed &+ 0xC0FFEE)
  }

  mutating func one<Element>(_ list: [Element]) -> Element {
    list[Int.random(in: 0..<list.count, using: &generator)]
  }

  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percent }

  mutating func comparison() -> Condition.Comparison {
    one([.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual])
  }

  mutating func options() -> Condition.TextOptions {
    Condition.TextOptions(rawValue: UInt8.random(in: 0..<4, using: &generator))
  }

  /// A condition on nodes.
  mutating func condition() -> Condition {
    budget = 14
    return condition([])
  }

  /// - Parameter variables: the elements of the subqueries around; the object under test is a node.
  mutating func condition(_ variables: [Variable]) -> Condition {
    budget -= 1
    if budget > 0 {
      switch Int.random(in: 0..<10, using: &generator) {
      case 0: return .not(condition(variables))
      case 1: return .and((0..<Int.random(in: 0..<4, using: &generator)).map { _ in condition(variables) })
      case 2: return .or((0..<Int.random(in: 0..<4, using: &generator)).map { _ in condition(variables) })
      case 3:
        let (collection, kind) = collection(variables)
        let name = "x\(variables.count)"
        return .exists(collection, variable: name, condition(variables + [(name, kind)]))
      case 4: if let quantified = quantified(variables) { return quantified }
      default: break
      }
    }
    return leaf(variables)
  }

  private mutating func leaf(_ variables: [Variable]) -> Condition {
    switch Int.random(in: 0..<13, using: &generator) {
    case 0, 1, 2: return textSearch(variables)
    case 3: return .isNull(anything(variables))
    case 4, 5: return objects(variables)
    case 6: return .constant(chance(50))
    case 7: return compare(decimal(variables), constants: RandomData.decimals.compactMap(Self.decimal) + [1, 1.5])
    case 8: return compare(date(variables), constants: [-1, 0, 86_400].map(Self.date))
    case 9:
      return compare(path(["identity"], or: nil, variables), constants: RandomData.uuids.map(Value.uuid))
    case 10:
      return compare(path(["member"], or: nil, variables), constants: [true, false, 0, 1])
    default:
      let numbers = RandomData.integers.map(Value.integer) + RandomData.reals.map(Value.double)
      if chance(25) { return .compare(number(variables), comparison(), number(variables), []) }
      return compare(number(variables), constants: numbers)
    }
  }

  private static func decimal(_ text: String) -> Value? { Decimal(string: text).map(Value.decimal) }
  private static func date(_ seconds: Double) -> Value { .date(Date(timeIntervalSinceReferenceDate: seconds)) }

  private mutating func compare(_ operand: Operand, constants: [Value]) -> Condition {
    let constants = constants + [.null]
    switch Int.random(in: 0..<6, using: &generator) {
    case 0: return .between(operand, lower: .value(one(constants)), upper: .value(one(constants)))
    case 1: return .isIn(operand, (0..<3).map { _ in .value(one(constants)) }, [])
    case 2: return .compare(.value(one(constants)), comparison(), operand, [])
    default: return .compare(operand, comparison(), .value(one(constants)), [])
    }
  }

  private mutating func textSearch(_ variables: [Variable]) -> Condition {
    let text = text(variables)
    switch Int.random(in: 0..<6, using: &generator) {
    case 0: return .compare(text, .like, .value(.string(one(Self.patterns))), options())
    case 1: return .compare(text, .matches, .value(.string(one(Self.expressions))), options())
    case 2: return .isIn(text, texts(count: Int.random(in: 0..<4, using: &generator)), options())
    case 3: return .isIn(text, texts(count: 80), options())
    default:
      let comparison = one([
        Condition.Comparison.beginsWith, .endsWith, .contains, .equal, .notEqual, .less, .lessOrEqual, .greater,
      ])
      let other = chance(25) ? self.text(variables) : .value(.string(one(RandomData.texts)))
      return chance(10) ? .compare(other, comparison, text, options()) : .compare(text, comparison, other, options())
    }
  }

  private mutating func texts(count: Int) -> [Operand] {
    (0..<count).map { _ in chance(10) ? .value(.null) : .value(.string(one(RandomData.texts))) }
  }

  private mutating func objects(_ variables: [Variable]) -> Condition {
    let (operand, kind) = object(variables)
    let candidates = kind == .node ? data.nodes : data.tags + [stranger]
    switch Int.random(in: 0..<4, using: &generator) {
    case 0: return .isIn(operand, (0..<3).map { _ in .object(one(candidates)) }, [])
    case 1:
      let (other, otherKind) = object(variables)
      if otherKind == kind { return .compare(operand, chance(50) ? .equal : .notEqual, other, []) }
      return .isNull(operand)
    case 2:
      let (collection, otherKind) = collection(variables)
      guard otherKind == kind else { return .isNull(operand) }
      let path = collection.variable.map { Operand.variablePath($0, collection.path) } ?? .keyPath(collection.path)
      return .compare(path, .contains, operand, [])
    default: return .compare(operand, chance(50) ? .equal : .notEqual, .object(one(candidates)), [])
    }
  }

  private mutating func quantified(_ variables: [Variable]) -> Condition? {
    let paths: [([String], Kind)] = [
      (["children"], .node), (["steps"], .tag), (["peers"], .node), (["parent", "children"], .node),
      (["children", "steps"], .tag), (["peers", "children"], .node), (["steps", "walkers"], .node),
      (["home", "residents"], .node), (["followed"], .node), (["parent", "steps", "walkers", "parent"], .node),
    ]
    guard variables.isEmpty else { return nil }
    let (path, kind) = one(paths)
    let quantifier = one([Condition.Quantifier.any, .all, .none])
    let isNode = kind == .node
    switch Int.random(in: 0..<5, using: &generator) {
    case 0:
      let object = Operand.object(one(isNode ? data.nodes : data.tags))
      return .quantified(quantifier, .compare(.keyPath(path), chance(60) ? .equal : .notEqual, object, []))
    case 1: return .quantified(quantifier, .isNull(.keyPath(path + [isNode ? "weight" : "title"])))
    case 2:
      let left = Operand.keyPath(path + [isNode ? "number" : "level"])
      return .quantified(quantifier, .compare(left, comparison(), number([]), []))
    case 3:
      let left = Operand.keyPath(path + (isNode ? ["entity", "name"] : ["price"]))
      let right = isNode ? text([]) : decimal([])
      return .quantified(quantifier, .compare(left, comparison(), right, []))
    default:
      let left = Operand.keyPath(path + [isNode ? "name" : "title"])
      return .quantified(
        quantifier, .compare(left, one([.equal, .contains]), .value(.string(one(RandomData.texts))), options()))
    }
  }

  mutating func sorts() -> [ResolvedSort] {
    (0..<Int.random(in: 0..<3, using: &generator)).map { _ in
      let path = one([
        ["name"], ["number"], ["weight"], ["wealth"], ["born"], ["identity"], ["page"], ["member"], ["home", "title"],
        ["parent", "name"], ["parent", "home", "price"],
      ])
      let isText = ["name", "page", "title"].contains(path[path.count - 1])
      return ResolvedSort(
        keyPath: path, isAscending: chance(50),
        textOrder: isText ? one([.codePoints, .caseInsensitive, .localizedStandard]) : .codePoints)
    }
  }
}
