import ObjectGraph
import ObjectModel

/// Writes conditions as SQL expressions, and collects the joins that their key paths need.
///
/// SQL's third truth value never shows: where it would differ from false, under NOT, it is made false. Elsewhere it is
/// left alone, because a wrapped column finds no index.
struct ConditionGenerator {
  private let entity: Entity
  private let coordinatorOrdinal: UInt32
  private var joins: [Join] = []

  /// A table that a to-one relationship leads to, once per key path.
  private struct Join {
    let path: [String]
    let clause: String
  }

  init(_ query: StoreQuery) {
    entity = query.entity
    coordinatorOrdinal = query.coordinatorOrdinal
  }

  /// The table with all tables joined so far.
  var fromClause: String {
    " FROM \(SchemaName.quoted(entity.root.name)) AS t0" + joins.map(\.clause).joined()
  }

  /// A column of the queried table.
  func column(_ name: String) -> String { "t0.\(SchemaName.quoted(name))" }

  /// The condition as an expression that is true or not.
  mutating func segment(_ condition: Condition) throws(ConditionError) -> SQLSegment {
    try segment(condition, negated: false)
  }

  private mutating func segment(_ condition: Condition, negated: Bool) throws(ConditionError) -> SQLSegment {
    switch condition {
    case .constant(let truth): return SQLSegment(truth != negated ? "1" : "0")
    case .not(let inner): return try segment(inner, negated: !negated)
    case .and(let parts): return try compound(parts, negated ? " OR " : " AND ", ifEmpty: !negated, negated)
    case .or(let parts): return try compound(parts, negated ? " AND " : " OR ", ifEmpty: negated, negated)
    case .isNull(let operand):
      return try segment(operand, as: .plain) + (negated ? " IS NOT NULL" : " IS NULL")
    case .compare(let left, let comparison, let right, let options):
      return try compare(left, comparison, right, options, negated)
    case .between: return try segment(condition.resolved(for: entity), negated: negated)
    case .isIn(let operand, let list, let options): return try membership(operand, list, options, negated)
    }
  }

  /// Halves go into parentheses, since a flat chain of a thousand exceeds SQLite's depth of expressions.
  private mutating func compound(
    _ parts: [Condition], _ separator: String, ifEmpty: Bool, _ negated: Bool
  ) throws(ConditionError) -> SQLSegment {
    if parts.isEmpty { return SQLSegment(ifEmpty ? "1" : "0") }
    var segments: [SQLSegment] = []
    for part in parts { segments.append(try segment(part, negated: negated)) }
    return Self.balanced(segments[...], separator)
  }

  private static func balanced(_ segments: ArraySlice<SQLSegment>, _ separator: String) -> SQLSegment {
    if segments.count <= 16 {
      let joined = segments.joined(separator: separator)
      return segments.count == 1 ? joined : "(" + joined + ")"
    }
    let middle = segments.startIndex + segments.count / 2
    return "(" + balanced(segments[..<middle], separator) + separator + balanced(segments[middle...], separator) + ")"
  }

  // MARK: Comparisons

  private mutating func compare(
    _ left: Operand, _ comparison: Condition.Comparison, _ right: Operand, _ options: Condition.TextOptions,
    _ negated: Bool
  ) throws(ConditionError) -> SQLSegment {
    let form = ComparisonForm(try entity.comparedType(left, right), options)
    switch comparison {
    case .equal: return try equality(left, right, form, isEqual: !negated)
    case .notEqual: return try equality(left, right, form, isEqual: negated)
    case .less, .lessOrEqual, .greater, .greaterOrEqual:
      let sides = (try segment(left, as: form), try segment(right, as: form))
      return Self.known(sides.0 + " \(comparison.rawValue) " + sides.1, negated)
    case .beginsWith, .endsWith, .contains, .like:
      return Self.known(try search(left, comparison, right, form), negated)
    case .matches:
      let sides = (try segment(left, as: .plain), try segment(right, as: .plain))
      let call = "\(SQLFunction.matches.name)(" + sides.0 + ", " + sides.1 + ", \(options.rawValue))"
      return Self.known(call, negated)
    }
  }

  /// The expression, or its negation with null counted as false.
  private static func known(_ expression: SQLSegment, _ negated: Bool) -> SQLSegment {
    negated ? "NOT IFNULL(" + expression + ", 0)" : expression
  }

  private mutating func equality(
    _ left: Operand, _ right: Operand, _ form: ComparisonForm, isEqual: Bool
  ) throws(ConditionError) -> SQLSegment {
    if isForeign(left) || isForeign(right) { return SQLSegment(isEqual ? "0" : "1") }
    let sides = (try segment(left, as: form), try segment(right, as: form))
    // IS costs an index in a few places where = does not; a constant is never null here.
    let equals = right.isConstant ? " = " : " IS "
    return sides.0 + (isEqual ? equals : " IS NOT ") + sides.1
  }

  private mutating func search(
    _ left: Operand, _ comparison: Condition.Comparison, _ right: Operand, _ form: ComparisonForm
  ) throws(ConditionError) -> SQLSegment {
    if comparison == .beginsWith, form == .plain, case .value(.string(let prefix)) = right, !prefix.isEmpty {
      // A range, so that an index finds it: UTF-8 orders as its code points do.
      let text = try segment(left, as: form)
      let lower = text + " >= " + SQLSegment(binding: .text(prefix))
      guard let end = prefix.endOfPrefix else { return lower }
      return "(" + lower + " AND " + text + " < " + SQLSegment(binding: .text(end)) + ")"
    }
    let function: SQLFunction =
      switch comparison {
      case .beginsWith: .begins
      case .endsWith: .ends
      case .contains: .contains
      default: .like
      }
    let sides = (try segment(left, as: form), try segment(right, as: form))
    return "\(function.name)(" + sides.0 + ", " + sides.1 + ")"
  }

  private mutating func membership(
    _ operand: Operand, _ list: [Operand], _ options: Condition.TextOptions, _ negated: Bool
  ) throws(ConditionError) -> SQLSegment {
    let form = ComparisonForm(try entity.comparedType(operand, nil), options)
    let left = try segment(operand, as: form)
    let bindings = list.filter { !isForeign($0) }.map { binding($0, form) }
    if bindings.isEmpty { return SQLSegment(negated ? "1" : "0") }
    return Self.known(left + " IN (" + (try ConstantList(bindings).segment) + ")", negated)
  }

  // MARK: Operands

  private mutating func segment(_ operand: Operand, as form: ComparisonForm) throws(ConditionError) -> SQLSegment {
    switch operand {
    case .value, .object, .variable: SQLSegment(binding: binding(operand, form))
    case .evaluatedObject: SQLSegment(column(SchemaName.key))
    case .keyPath(let names): segment(try PropertyPath(names, from: entity), as: form)
    }
  }

  /// The column at the end of a path, its tables joined.
  mutating func segment(_ path: PropertyPath, as form: ComparisonForm) -> SQLSegment {
    var alias = "t0"
    var names: [String] = []
    for relationship in path.relationships {
      names.append(relationship.name)
      alias = joined(names, relationship, from: alias)
    }
    return SQLSegment(form.column("\(alias).\(SchemaName.quoted(path.last.name))"))
  }

  private mutating func joined(_ path: [String], _ relationship: Property, from source: String) -> String {
    if let index = joins.firstIndex(where: { $0.path == path }) { return "t\(index + 1)" }
    let alias = "t\(joins.count + 1)"
    let table = SchemaName.quoted(relationship.destination?.root.name ?? "")
    let reference = "\(source).\(SchemaName.quoted(relationship.name))"
    let key = "\(alias).\(SchemaName.quoted(SchemaName.key))"
    joins.append(Join(path: path, clause: " LEFT JOIN \(table) AS \(alias) ON \(key) = \(reference)"))
    return alias
  }

  private func binding(_ operand: Operand, _ form: ComparisonForm) -> SQLBinding {
    switch operand {
    case .value(let value): form.binding(value)
    case .object(let id): .integer(id.key)
    case .evaluatedObject, .keyPath, .variable: .null
    }
  }

  /// Whether the operand is an object of another stack, which equals none of this store's.
  private func isForeign(_ operand: Operand) -> Bool {
    if case .object(let id) = operand { id.coordinatorOrdinal != coordinatorOrdinal } else { false }
  }
}
