import Foundation
import ObjectGraph

/// Values of each type that depend on objects: paths, and what is computed.
extension RandomConditions {
  /// A path from the object under test or from one of the variables.
  ///
  /// - Parameter tagPaths: those from a tag; nil if tags have none.
  mutating func path(_ nodePaths: String..., or tagPaths: [String]?, _ variables: [Variable]) -> Operand {
    path(nodePaths, or: tagPaths, variables)
  }

  mutating func path(_ nodePaths: [String], or tagPaths: [String]?, _ variables: [Variable]) -> Operand {
    let candidates = variables.filter { $0.kind == .node || tagPaths != nil }
    guard !candidates.isEmpty, chance(75) else { return .keyPath(Self.names(one(nodePaths))) }
    let variable = one(candidates)
    return .variablePath(variable.name, Self.names(one(variable.kind == .tag ? tagPaths ?? [] : nodePaths)))
  }

  private static func names(_ path: String) -> [String] { path.split(separator: ".").map(String.init) }

  /// An operand of any type, binary data included.
  mutating func anything(_ variables: [Variable]) -> Operand {
    switch Int.random(in: 0..<7, using: &generator) {
    case 0: text(variables)
    case 1: number(variables)
    case 2: decimal(variables)
    case 3: date(variables)
    case 4: object(variables).0
    case 5: .keyPath(["icon"])
    default: path("member", "identity", "page", "parent.page", or: nil, variables)
    }
  }

  /// An object, of whose kind more can be asked.
  mutating func object(_ variables: [Variable]) -> (Operand, Kind) {
    switch Int.random(in: 0..<4, using: &generator) {
    case 0: return (path("home", "parent.home", or: nil, variables), .tag)
    case 1: return (path("parent", "parent.parent", "parent.self", "objectID", or: nil, variables), .node)
    case 2:
      guard let variable = variables.last else { return (.evaluatedObject, .node) }
      return (.variable(variable.name), variable.kind)
    default: return (.evaluatedObject, .node)
    }
  }

  mutating func collection(_ variables: [Variable]) -> (Operand.Collection, Kind) {
    let origin = variables.isEmpty || chance(25) ? nil : one(variables)
    if origin?.kind == .tag { return (Operand.Collection([one(["walkers", "residents"])], from: origin?.name), .node) }
    let (path, kind): ([String], Kind) = one([
      (["children"], .node), (["steps"], .tag), (["peers"], .node), (["followed"], .node),
      (["parent", "children"], .node), (["parent", "steps"], .tag), (["home", "walkers"], .node),
    ])
    return (Operand.Collection(path, from: origin?.name), kind)
  }

  /// An aggregation over one of the properties of each kind.
  private mutating func aggregate(
    _ make: (Operand) -> Operand.Aggregation, _ node: String, _ tag: String, _ variables: [Variable]
  ) -> Operand {
    let (collection, kind) = collection(variables)
    let all = chance(60) || budget <= 0
    let name = all ? "_" : "n\(variables.count)"
    let inner = all ? Condition.constant(true) : condition(variables + [(name, kind)])
    let operand = Operand.variablePath(name, Self.names(kind == .node ? node : tag))
    return .aggregate(make(operand), collection, variable: name, inner)
  }

  mutating func text(_ variables: [Variable]) -> Operand {
    budget -= 1
    if budget > 0, chance(35) {
      switch Int.random(in: 0..<5, using: &generator) {
      case 0: return .function(one([.lowercase, .uppercase]), text(variables))
      case 1: return .function(.castToText, chance(50) ? number(variables) : decimal(variables))
      case 2: return .entityName(object(variables).0)
      case 3: return aggregate({ .min($0) }, "name", "title", variables)
      default: return aggregate({ .max($0) }, "home.title", "title", variables)
      }
    }
    return path(
      "name", "parent.name", "home.title", "parent.home.title", "page", "entity", "parent.entity.name",
      or: ["title", "entity"], variables)
  }

  mutating func number(_ variables: [Variable]) -> Operand {
    budget -= 1
    if budget > 0, chance(60) {
      switch Int.random(in: 0..<12, using: &generator) {
      case 0, 1:
        let sign = one([Operand.Arithmetic.add, .subtract, .multiply, .divide, .power])
        return .arithmetic(number(variables), sign, number(variables))
      case 2:
        return .arithmetic(
          path("number", "small", or: ["level"], variables), .remainder, .value(.integer(one([-1, 0, 2, 3]))))
      case 3, 4: return aggregate({ _ in .count }, "name", "title", variables)
      case 5: return aggregate({ .sum($0) }, one(["number", "weight", "small"]), "level", variables)
      case 6: return aggregate({ .average($0) }, one(["number", "weight", "parent.small"]), "level", variables)
      case 7: return aggregate({ .min($0) }, one(["number", "weight"]), "level", variables)
      case 8: return aggregate({ .max($0) }, one(["number", "parent.weight"]), "level", variables)
      case 9: return .function(.length, text(variables))
      case 10:
        let value = chance(33) ? text(variables) : chance(50) ? date(variables) : decimal(variables)
        return .function(.castToNumber, value)
      default:
        let functions: [Operand.Function] = [
          .absolute, .floor, .ceiling, .truncate, .squareRoot, .exponential, .naturalLogarithm, .logarithm,
        ]
        return .function(one(functions), number(variables))
      }
    }
    if chance(20) {
      return .value(chance(50) ? .integer(one(RandomData.integers)) : .double(one(RandomData.reals)))
    }
    return path(
      "number", "small", "weight", "parent.number", "parent.weight", "home.level", or: ["level"], variables)
  }

  mutating func decimal(_ variables: [Variable]) -> Operand {
    budget -= 1
    if budget > 0, chance(50) {
      switch Int.random(in: 0..<6, using: &generator) {
      case 0: return aggregate({ .sum($0) }, "wealth", "price", variables)
      case 1: return aggregate({ .average($0) }, "wealth", "price", variables)
      case 2: return aggregate({ .min($0) }, "home.price", "price", variables)
      case 3: return aggregate({ .max($0) }, "wealth", "price", variables)
      case 4: return .function(one([.absolute, .floor, .ceiling, .truncate]), decimal(variables))
      default:
        let other =
          chance(50) ? decimal(variables) : .value(chance(50) ? 3 : .decimal(Decimal(string: "0.7") ?? 0))
        return .arithmetic(decimal(variables), one([.add, .subtract, .multiply, .divide]), other)
      }
    }
    return path("wealth", "home.price", "parent.wealth", or: ["price"], variables)
  }

  mutating func date(_ variables: [Variable]) -> Operand {
    budget -= 1
    if budget > 0, chance(40) {
      switch Int.random(in: 0..<3, using: &generator) {
      case 0: return .function(.castToDate, number(variables))
      default:
        let (collection, kind) = collection(variables)
        guard kind == .node else { return .keyPath(["born"]) }
        let operand = Operand.variablePath("_", ["born"])
        return .aggregate(
          chance(50) ? .min(operand) : .max(operand), collection, variable: "_", .constant(true))
      }
    }
    return path("born", "parent.born", or: nil, variables)
  }
}
