import ObjectGraph
import ObjectModel

/// Makes conditions over to-many relationships at random: quantifiers, subqueries, counts, arithmetic, functions.
struct RandomToManyConditions {
  static let texts = ["", "a", "A", "ab", "Ab", "é", "É", "z", "ß", "\u{1F600}"]
  static let numbers: [Int64] = [.min, -3, -1, 0, 1, 2, 3, 7, .max]
  static let weights: [Double] = [-.infinity, -1.5, -0.0, 0, 0.5, 2, 1e300, .infinity]

  /// The entity that a path begins at.
  enum Kind { case node, tag }

  var generator: SeededGenerator
  let nodes: [ManagedObjectID]
  let tags: [ManagedObjectID]

  private mutating func one<Element>(_ list: [Element]) -> Element {
    list[Int.random(in: 0..<list.count, using: &generator)]
  }

  private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percent }

  private mutating func comparison() -> Condition.Comparison {
    one([.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual])
  }

  /// - Parameter variables: the elements of the subqueries around; the object under test is a node.
  mutating func condition(depth: Int = 0, variables: [(name: String, kind: Kind)] = []) -> Condition {
    if depth < 4, chance(35) {
      switch Int.random(in: 0..<3, using: &generator) {
      case 0: return .not(condition(depth: depth + 1, variables: variables))
      case 1: return .and((0..<2).map { _ in condition(depth: depth + 1, variables: variables) })
      default: return .or((0..<2).map { _ in condition(depth: depth + 1, variables: variables) })
      }
    }
    if depth < 4, chance(45) {
      let (collection, kind) = collection(variables)
      let name = "x\(variables.count)"
      let inner = condition(depth: depth + 1, variables: variables + [(name, kind)])
      return .exists(collection, variable: name, inner)
    }
    if variables.isEmpty, chance(35) { return quantified() }
    return leaf(depth: depth, variables)
  }

  private mutating func quantified() -> Condition {
    let paths: [([String], Kind)] = [
      (["children"], .node), (["tags"], .tag), (["peers"], .node), (["parent", "children"], .node),
      (["children", "tags"], .tag), (["peers", "children"], .node), (["tags", "nodes"], .node),
      (["parent", "tags", "nodes", "parent"], .node),
    ]
    let (path, kind) = one(paths)
    let quantifier = one([Condition.Quantifier.any, .all, .none])
    switch Int.random(in: 0..<4, using: &generator) {
    case 0:
      let object = Operand.object(one(kind == .node ? nodes : tags))
      return .quantified(quantifier, .compare(.keyPath(path), chance(60) ? .equal : .notEqual, object, []))
    case 1: return .quantified(quantifier, .isNull(.keyPath(path + [kind == .node ? "weight" : "title"])))
    case 2 where kind == .node:
      let right: Operand = chance(50) ? .keyPath(["number"]) : .value(.integer(one(Self.numbers)))
      return .quantified(quantifier, .compare(.keyPath(path + ["number"]), comparison(), right, []))
    default:
      let options = Condition.TextOptions(rawValue: UInt8.random(in: 0..<4, using: &generator))
      let left = Operand.keyPath(path + [kind == .node ? "name" : "title"])
      return .quantified(
        quantifier, .compare(left, one([.equal, .contains]), .value(.string(one(Self.texts))), options))
    }
  }

  private mutating func collection(_ variables: [(name: String, kind: Kind)]) -> (Operand.Collection, Kind) {
    let origin = variables.isEmpty || chance(25) ? nil : one(variables)
    if origin?.kind == .tag { return (Operand.Collection(["nodes"], from: origin?.name), .node) }
    let (path, kind): ([String], Kind) = one([
      (["children"], .node), (["tags"], .tag), (["peers"], .node), (["parent", "children"], .node),
      (["parent", "tags"], .tag),
    ])
    return (Operand.Collection(path, from: origin?.name), kind)
  }

  private mutating func leaf(depth: Int, _ variables: [(name: String, kind: Kind)]) -> Condition {
    switch Int.random(in: 0..<5, using: &generator) {
    case 0:
      let options = Condition.TextOptions(rawValue: UInt8.random(in: 0..<4, using: &generator))
      let comparison = one([Condition.Comparison.equal, .notEqual, .beginsWith, .endsWith, .contains, .like, .less])
      let right: Operand = chance(30) ? text(variables) : .value(.string(one(Self.texts)))
      return .compare(text(variables), comparison, right, options)
    case 1: return .isNull(chance(50) ? text(variables) : number(depth, variables))
    case 2:
      guard let variable = variables.last else { return .compare(.evaluatedObject, .equal, .object(one(nodes)), []) }
      let right: Operand = variable.kind == .node && chance(50) ? .evaluatedObject : .object(one(nodes + tags))
      if case .object(let id) = right, nodes.contains(id) != (variable.kind == .node) { return .constant(chance(50)) }
      return .compare(.variable(variable.name), chance(50) ? .equal : .notEqual, right, [])
    case 3: return .between(number(depth, variables), lower: number(9, variables), upper: number(9, variables))
    default: return .compare(number(depth, variables), comparison(), number(depth, variables), [])
    }
  }

  private mutating func path(_ variable: (name: String, kind: Kind)?, _ names: [String]) -> Operand {
    variable.map { .variablePath($0.name, names) } ?? .keyPath(names)
  }

  private mutating func text(_ variables: [(name: String, kind: Kind)]) -> Operand {
    let origin = variables.isEmpty || chance(25) ? nil : one(variables)
    let plain = path(origin, origin?.kind == .tag ? ["title"] : one([["name"], ["parent", "name"]]))
    return chance(25) ? .function(one([.lowercase, .uppercase]), plain) : plain
  }

  private mutating func number(_ depth: Int, _ variables: [(name: String, kind: Kind)]) -> Operand {
    if depth < 5, chance(35) {
      let sign = one([Operand.Arithmetic.add, .subtract, .multiply, .divide])
      return .arithmetic(number(depth + 1, variables), sign, number(depth + 1, variables))
    }
    if depth < 3, chance(35) {
      let (collection, kind) = collection(variables)
      let name = "n\(variables.count)"
      let all = chance(50)
      let inner = all ? .constant(true) : condition(depth: depth + 2, variables: variables + [(name, kind)])
      return .count(collection, variable: name, inner)
    }
    if chance(15) { return .function(.length, text(variables)) }
    if chance(15) { return .function(one([.absolute, .floor, .ceiling]), number(9, variables)) }
    if chance(30) { return chance(50) ? .value(.integer(one(Self.numbers))) : .value(.double(one(Self.weights))) }
    let origin = variables.isEmpty || chance(25) ? nil : one(variables)
    return path(
      origin,
      origin?.kind == .tag ? ["level"] : one([["number"], ["weight"], ["parent", "number"], ["parent", "weight"]]))
  }
}
