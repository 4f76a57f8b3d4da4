package import ObjectModel
package import StoreInterface

/// A condition in two parts: what SQL is asked, and what is left to be tested in memory of the rows that it finds.
///
/// Both together are the condition: SQL drops no row that meets it, and what is left drops those that don't. A dialect
/// that calls Swift's functions answers everything. Null is no third truth value here, as in ``Condition``.
package struct ConditionSplit: Sendable, Hashable {
  /// The part for SQL, true wherever the whole condition is; nil if SQL can tell nothing.
  ///
  /// A comparison with options in it stands for a wider one in dialects that can't fold texts: it is also true of all
  /// texts with characters beyond ASCII.
  package let asked: Condition?
  /// The part for memory; nil if SQL answers the condition alone.
  package let residual: Condition?

  /// - Parameters:
  ///   - condition: a condition that is resolved for the entity.
  ///   - entity: the queried entity.
  ///   - dialect: the dialect that is to answer it.
  /// - Throws: ``ConditionError`` if the condition does not fit the entity.
  package init(_ condition: Condition?, for entity: Entity, dialect: Dialect) throws {
    guard let condition, !dialect.callsSwift else {
      (asked, residual) = (condition, nil)
      return
    }
    let part = try ConditionSplitter(dialect: dialect, scope: EntityScope(entity), mayWiden: true)
      .split(condition, negated: false)
    asked = part.asked == .constant(true) ? nil : part.asked
    residual = part.asked == .constant(false) ? nil : part.residual
  }
}

/// Splits the parts of a condition, from the leaves up.
private struct ConditionSplitter {
  let dialect: Dialect
  var scope: EntityScope
  /// True if comparisons with options may stand for wider ones: not where a part is to be narrower than the condition.
  var mayWiden: Bool

  struct Part {
    let asked: Condition
    var residual: Condition?
  }

  /// The answer that SQL has to a comparison.
  private enum Answer {
    case exact(Condition)
    /// The same comparison in a wider sense.
    case wider(Condition)
    /// None, but perhaps a condition that follows from the comparison.
    case none(implied: Condition)
  }

  func split(_ condition: Condition, negated: Bool) throws -> Part {
    switch condition {
    case .constant(let truth): return Part(asked: .constant(truth != negated))
    case .not(let inner): return try split(inner, negated: !negated)
    case .and(let parts): return try split(parts, of: condition, isConjunction: !negated, negated: negated)
    case .or(let parts): return try split(parts, of: condition, isConjunction: negated, negated: negated)
    case .between(let operand, let lower, let upper):
      let bounds: [Condition] = [
        .compare(operand, .greaterOrEqual, lower, []), .compare(operand, .lessOrEqual, upper, []),
      ]
      return try split(.and(bounds), negated: negated)
    case .exists(let collection, let variable, let inner):
      return try split(condition, collection, variable: variable, inner: inner, negated: negated)
    case .isNull(let operand):
      return part(
        condition, try answered(operand).map { .exact(.isNull($0)) } ?? .none(implied: .constant(true)),
        negated: negated)
    case .compare(let left, let comparison, let right, let options):
      return part(condition, try compare(left, comparison, right: right, options: options), negated: negated)
    case .isIn(let operand, let list, let options):
      return part(condition, try membership(operand, list, options: options), negated: negated)
    case .quantified:
      throw ConditionError(.unsupported, "the condition is not resolved", fragment: "\(condition)")
    }
  }

  /// The part that comes of a leaf's answer; null needs no care, since a leaf is either true or not.
  private func part(_ leaf: Condition, _ answer: Answer, negated: Bool) -> Part {
    func signed(_ condition: Condition) -> Condition { negated ? .not(condition).simplified : condition }
    return switch answer {
    case .exact(let asked): Part(asked: signed(asked))
    case .wider(let asked) where mayWiden: Part(asked: signed(asked), residual: signed(leaf))
    case .wider: Part(asked: .constant(true), residual: signed(leaf))
    case .none(let implied): Part(asked: negated ? .constant(true) : implied, residual: signed(leaf))
    }
  }

  private func split(
    _ parts: [Condition], of whole: Condition, isConjunction: Bool, negated: Bool
  ) throws -> Part {
    var asked: [Condition] = []
    var residuals: [Condition] = []
    for part in parts {
      let part = try split(part, negated: negated)
      asked.append(part.asked)
      if let residual = part.residual { residuals.append(residual) }
    }
    let all = (isConjunction ? Condition.and(asked) : .or(asked)).simplified
    if residuals.isEmpty { return Part(asked: all) }
    // What SQL has answered of a conjunction is answered; of a disjunction nothing is, before all of it is.
    if isConjunction { return Part(asked: all, residual: residuals.count == 1 ? residuals[0] : .and(residuals)) }
    return Part(asked: all, residual: negated ? .not(whole) : whole)
  }

  /// There is no object only if there is none even in a narrower sense: one that is sure to meet the condition.
  private func split(
    _ whole: Condition, _ collection: Operand.Collection, variable: String, inner: Condition, negated: Bool
  ) throws -> Part {
    var element = self
    element.scope = scope.binding(variable, to: try scope.destination(of: collection))
    if !negated {
      let part = try element.split(inner, negated: false)
      let asked: Condition =
        part.asked == .constant(false)
        ? .constant(false) : .exists(collection, variable: variable, part.asked)
      return Part(asked: asked, residual: part.residual == nil ? nil : whole)
    }
    element.mayWiden = false
    let part = try element.split(inner, negated: false)
    if part.residual == nil { return Part(asked: .not(.exists(collection, variable: variable, part.asked))) }
    let surely = Condition.not(try element.split(inner, negated: true).asked).simplified
    let asked: Condition =
      surely == .constant(false) ? .constant(true) : .not(.exists(collection, variable: variable, surely))
    return Part(asked: asked, residual: .not(whole))
  }

  // MARK: Comparisons

  private func compare(
    _ left: Operand, _ comparison: Condition.Comparison, right: Operand, options: Condition.TextOptions
  ) throws -> Answer {
    let sides = (try answered(left), try answered(right))
    guard let first = sides.0, let second = sides.1 else {
      return .none(implied: implied(comparison, sides.0, with: right))
    }
    let types = (try type(of: first), try type(of: second))
    let leaf = Condition.compare(first, comparison, second, options)
    switch comparison {
    case .matches: return .none(implied: implied(comparison, first, with: right))
    case .like where !second.isConstant: return .none(implied: implied(comparison, first, with: right))
    case .like, .beginsWith, .endsWith, .contains: return options.isEmpty ? .exact(leaf) : .wider(leaf)
    case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual: break
    }
    switch (types.0, types.1, second) {
    // The database would round one of them.
    case (.integer?, .real?, _), (.real?, .integer?, _): return .none(implied: implied(comparison, first, with: right))
    case (.integer?, nil, .value(.double(let number))):
      return .exact(first.comparison(comparison, ofIntegerWith: number))
    case (.real?, nil, .value(.integer(let number))):
      return .exact(first.comparison(comparison, ofRealWith: number))
    default: return options.isEmpty ? .exact(leaf) : .wider(leaf)
    }
  }

  /// A condition that follows from a comparison: most are false of null.
  private func implied(_ comparison: Condition.Comparison, _ left: Operand?, with right: Operand) -> Condition {
    guard let left, !left.isConstant, comparison != .notEqual, comparison != .equal || right.isConstant else {
      return .constant(true)
    }
    return .not(.isNull(left))
  }

  private func membership(
    _ operand: Operand, _ list: [Operand], options: Condition.TextOptions
  ) throws -> Answer {
    guard let asked = try answered(operand) else { return .none(implied: .constant(true)) }
    let type = try type(of: asked)
    let possible = list.filter { constant in
      switch (type, constant) {
      case (.integer?, .value(.double)): false
      case (.real?, .value(.integer(let number))): Double(exactly: number) != nil
      default: isStorable(constant)
      }
    }
    if possible.isEmpty { return .exact(.constant(false)) }
    let leaf = Condition.isIn(asked, possible, options)
    return options.isEmpty ? .exact(leaf) : .wider(leaf)
  }

  // MARK: Operands

  private func type(of operand: Operand) throws -> OperandType? {
    operand.isConstant ? nil : try scope.type(of: operand)
  }

  /// False for a text that no column can hold, and no parameter either.
  private func isStorable(_ constant: Operand) -> Bool {
    if dialect.keepsZeroInTexts { return true }
    return switch constant {
    case .value(.string(let text)): !text.utf8.contains(0)
    case .value(.url(let url)): !url.absoluteString.utf8.contains(0)
    default: true
    }
  }

  /// The operand as SQL computes it, exactly as Swift does; nil if it can't.
  private func answered(_ operand: Operand) throws -> Operand? {
    switch operand {
    case .value, .object: return isStorable(operand) ? operand : nil
    case .evaluatedObject, .keyPath, .variablePath, .entityName: return operand
    case .variable(let name): return scope.index(of: name) == nil ? nil : operand
    // Division by zero and overflow are errors in other databases, and decimals are rounded elsewhere.
    case .arithmetic: return nil
    case .function(let function, let inner):
      guard !inner.isConstant, let asked = try answered(inner), let type = try scope.type(of: asked) else { return nil }
      return function.isAnswered(of: type) ? .function(function, asked) : nil
    case .aggregate(let aggregation, let collection, let variable, let condition):
      return try answered(aggregation, collection, variable: variable, condition: condition)
    }
  }

  private func answered(
    _ aggregation: Operand.Aggregation, _ collection: Operand.Collection, variable: String, condition: Condition
  ) throws -> Operand? {
    var element = self
    element.scope = scope.binding(variable, to: try scope.destination(of: collection))
    element.mayWiden = false
    let part = try element.split(condition, negated: false)
    if part.residual != nil { return nil }
    switch aggregation {
    case .count: break
    // The order of adding decides what the sum of floating-point numbers is.
    case .sum, .average: return nil
    case .min(let operand), .max(let operand):
      // Bytes have no extremes there.
      guard try element.answered(operand) == operand, try element.scope.type(of: operand) != .uuid else { return nil }
    }
    return .aggregate(aggregation, collection, variable: variable, part.asked)
  }
}

extension Operand.Function {
  /// True if a dialect without Swift's functions has the same one, of numbers of a type.
  fileprivate func isAnswered(of type: OperandType) -> Bool {
    switch (self, type) {
    case (.castToNumber, .integer), (.castToNumber, .real), (.castToNumber, .boolean), (.castToNumber, .date): true
    case (.castToDate, .integer), (.castToDate, .real), (.castToDate, .date): true
    case (.absolute, .real), (.floor, .real), (.ceiling, .real), (.truncate, .real): true
    default: false
    }
  }
}

extension Operand {
  /// The comparison of an integer with a number that is none, as one of integers.
  fileprivate func comparison(_ comparison: Condition.Comparison, ofIntegerWith number: Double) -> Condition {
    if let whole = Int64(exactly: number) { return .compare(self, comparison, .value(.integer(whole)), []) }
    let isBelow = number < -0x1p63
    switch comparison {
    case .notEqual: return .constant(true)
    case .less, .lessOrEqual:
      if isBelow { return .constant(false) }
      guard let whole = Int64(exactly: number.rounded(.down)) else { return .not(.isNull(self)) }
      return .compare(self, .lessOrEqual, .value(.integer(whole)), [])
    case .greater, .greaterOrEqual:
      if isBelow { return .not(.isNull(self)) }
      guard let whole = Int64(exactly: number.rounded(.down)) else { return .constant(false) }
      return .compare(self, .greater, .value(.integer(whole)), [])
    default: return .constant(false)
    }
  }

  /// The comparison of a floating-point number with an integer that it can't hold, as one with the nearest it can.
  fileprivate func comparison(_ comparison: Condition.Comparison, ofRealWith number: Int64) -> Condition {
    let nearest = Double(number)
    if Int64(exactly: nearest) == number {
      return .compare(self, comparison, .value(.double(nearest)), [])
    }
    let isAbove = Int64(exactly: nearest).map { $0 > number } ?? true
    let constant = Operand.value(.double(nearest))
    return switch comparison {
    case .notEqual: .constant(true)
    case .less, .lessOrEqual: .compare(self, isAbove ? .less : .lessOrEqual, constant, [])
    case .greater, .greaterOrEqual: .compare(self, isAbove ? .greaterOrEqual : .greater, constant, [])
    default: .constant(false)
    }
  }
}

extension Condition {
  /// The condition without constants among its parts.
  fileprivate var simplified: Condition {
    switch self {
    case .not(.constant(let truth)): return .constant(!truth)
    case .not(.not(let inner)): return inner
    case .and(let parts):
      if parts.contains(.constant(false)) { return .constant(false) }
      let rest = parts.filter { $0 != .constant(true) }
      return rest.isEmpty ? .constant(true) : rest.count == 1 ? rest[0] : .and(rest)
    case .or(let parts):
      if parts.contains(.constant(true)) { return .constant(true) }
      let rest = parts.filter { $0 != .constant(false) }
      return rest.isEmpty ? .constant(false) : rest.count == 1 ? rest[0] : .or(rest)
    default: return self
    }
  }
}
