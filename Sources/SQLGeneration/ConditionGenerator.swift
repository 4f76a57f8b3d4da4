import ObjectModel
import StoreInterface

/// Writes conditions as SQL expressions, and collects the joins that their key paths need.
///
/// SQL's third truth value never shows: where it would differ from false, under NOT, it is made false. Elsewhere it is
/// left alone, because a wrapped column finds no index.
struct ConditionGenerator {
  private let entity: Entity
  private let dialect: Dialect
  private let coordinatorOrdinal: UInt32
  private var scope: EntityScope
  /// The table of the queried objects, then those of the subqueries around, outermost first.
  private var frames = [Frame(alias: "t0")]
  private var aliasCount = 1

  /// A table whose rows a condition is about.
  private struct Frame {
    let alias: String
    var joins: [Join] = []
  }

  /// A table that a to-one relationship leads to, once per key path.
  private struct Join {
    let path: [String]
    let alias: String
    let clause: String
  }

  init(_ query: StoreQuery, dialect: Dialect) {
    entity = query.entity
    self.dialect = dialect
    scope = EntityScope(query.entity)
    coordinatorOrdinal = query.coordinatorOrdinal
  }

  /// The table with all tables joined so far.
  var fromClause: String {
    " FROM \(dialect.quoted(entity.root.name)) AS t0" + frames[0].joins.map(\.clause).joined()
  }

  /// A column of the queried table.
  func column(_ name: String) -> String { "t0.\(SchemaName.quoted(name))" }

  /// The condition as an expression that is true or not.
  mutating func segment(_ condition: Condition) throws -> SQLSegment {
    try segment(condition, negated: false)
  }

  private mutating func segment(_ condition: Condition, negated: Bool) throws -> SQLSegment {
    switch condition {
    case .constant(let truth): return SQLSegment(dialect.truth(truth != negated))
    case .not(let inner): return try segment(inner, negated: !negated)
    case .and(let parts): return try compound(parts, negated ? " OR " : " AND ", ifEmpty: !negated, negated: negated)
    case .or(let parts): return try compound(parts, negated ? " AND " : " OR ", ifEmpty: negated, negated: negated)
    case .isNull(let operand): return try nullTest(operand, negated: negated)
    case .compare(let left, let comparison, let right, let options):
      return try compare(left, comparison, right: right, options: options, negated: negated)
    case .between(let operand, let lower, let upper):
      let bounds: [Condition] = [
        .compare(operand, .greaterOrEqual, lower, []), .compare(operand, .lessOrEqual, upper, []),
      ]
      return try segment(.and(bounds), negated: negated)
    case .quantified:
      throw ConditionError(.unsupported, "the condition is not resolved", fragment: "\(condition)")
    case .exists(let collection, let variable, let inner):
      return (negated ? "NOT EXISTS (" : "EXISTS (") + (try subselect(collection, variable, condition: inner)) + ")"
    case .isIn(let operand, let list, let options):
      return try membership(operand, list, options: options, negated: negated)
    }
  }

  /// Halves go into parentheses, since a flat chain of a thousand exceeds SQLite's depth of expressions.
  private mutating func compound(
    _ parts: [Condition], _ separator: String, ifEmpty: Bool, negated: Bool
  ) throws -> SQLSegment {
    if parts.isEmpty { return SQLSegment(dialect.truth(ifEmpty)) }
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

  private mutating func nullTest(_ operand: Operand, negated: Bool) throws -> SQLSegment {
    let test = negated ? " IS NOT NULL" : " IS NULL"
    let value = try segment(operand, as: .plain) + test
    guard let (variable, names) = operand.path, !names.isEmpty else { return value }
    let path = try scope.path(names, from: variable)
    guard let column = dialect.fileColumnName(of: path.last) else { return value }
    let file = segment(path, as: .plain, frame: frame(of: variable), column: column) + test
    return "(" + value + (negated ? " OR " : " AND ") + file + ")"
  }

  private mutating func compare(
    _ left: Operand, _ comparison: Condition.Comparison, right: Operand, options: Condition.TextOptions,
    negated: Bool
  ) throws -> SQLSegment {
    let form = ComparisonForm(try scope.comparedType(left, right), options)
    let test: SQLSegment
    switch comparison {
    case .equal: test = try equality(left, right, form: form, isEqual: !negated)
    case .notEqual: test = try equality(left, right, form: form, isEqual: negated)
    case .less, .lessOrEqual, .greater, .greaterOrEqual:
      let sides = (try segment(left, as: form), try segment(right, as: form))
      test = known(sides.0 + " \(comparison.rawValue) " + sides.1, negated)
    case .beginsWith, .endsWith, .contains, .like:
      test = known(try search(left, comparison, right: right, form: form), negated)
    case .matches:
      let sides = (try segment(left, as: .plain), try segment(right, as: .plain))
      let call = "\(SQLFunction.matches.name)(" + sides.0 + ", " + sides.1 + ", \(options.rawValue))"
      test = known(call, negated)
    }
    return try widened(test, [left, right], options: options)
  }

  /// The expression, or its negation with null counted as false.
  private func known(_ expression: SQLSegment, _ negated: Bool) -> SQLSegment {
    negated ? dialect.negation(expression) : expression
  }

  /// A test of folded texts, true also of those that only Swift can fold; see ``ConditionSplit/asked``.
  private mutating func widened(
    _ test: SQLSegment, _ operands: [Operand], options: Condition.TextOptions
  ) throws -> SQLSegment {
    if dialect.callsSwift || options.isEmpty { return test }
    var tests = [test]
    for operand in operands where !operand.isConstant {
      tests.append(dialect.isBeyondASCII(try segment(operand, as: .plain)))
    }
    return "(" + tests.joined(separator: " OR ") + ")"
  }

  private mutating func equality(
    _ left: Operand, _ right: Operand, form: ComparisonForm, isEqual: Bool
  ) throws -> SQLSegment {
    if isForeign(left) || isForeign(right) { return SQLSegment(dialect.truth(!isEqual)) }
    let sides = (try segment(left, as: form), try segment(right, as: form))
    if !isEqual { return dialect.inequality(sides.0, sides.1) }
    // A constant is never null here.
    let isSimple = form == .plain && left.path != nil && right.path != nil
    return dialect.equality(sides.0, sides.1, hasConstant: right.isConstant, isSimple: isSimple)
  }

  private mutating func search(
    _ left: Operand, _ comparison: Condition.Comparison, right: Operand, form: ComparisonForm
  ) throws -> SQLSegment {
    if comparison == .beginsWith, form == .plain, case .value(.string(let prefix)) = right, !prefix.isEmpty {
      // A range, so that an index finds it: UTF-8 orders as its code points do.
      let text = try segment(left, as: form)
      let lower = text + " >= " + SQLSegment(binding: .text(prefix))
      guard let end = prefix.endOfPrefix else { return lower }
      return "(" + lower + " AND " + text + " < " + SQLSegment(binding: .text(end)) + ")"
    }
    var pattern: String?
    if case .text(let text) = binding(right, form) { pattern = text }
    let sides = (try segment(left, as: form), try segment(right, as: form))
    return dialect.search(sides.0, comparison, for: sides.1, pattern: pattern)
  }

  private mutating func membership(
    _ operand: Operand, _ list: [Operand], options: Condition.TextOptions, negated: Bool
  ) throws -> SQLSegment {
    let form = ComparisonForm(try scope.comparedType(operand, nil), options)
    let left = try segment(operand, as: form)
    let bindings = list.filter { !isForeign($0) }.map { binding($0, form) }
    if bindings.isEmpty { return SQLSegment(dialect.truth(negated)) }
    return try widened(
      known(try dialect.membership(left, bindings, form: form), negated), [operand], options: options)
  }

  // MARK: Operands

  private mutating func segment(_ operand: Operand, as form: ComparisonForm) throws -> SQLSegment {
    switch operand {
    case .value, .object: return dialect.parameter(binding(operand, form), form)
    case .variable(let name):
      guard let index = scope.index(of: name) else { return SQLSegment(binding: .null) }
      return SQLSegment("\(frames[index + 1].alias).\(SchemaName.quoted(SchemaName.key))")
    case .evaluatedObject: return SQLSegment(column(SchemaName.key))
    case .keyPath(let names): return segment(try scope.path(names, from: nil), as: form)
    case .variablePath(let name, let names):
      return segment(try scope.path(names, from: name), as: form, frame: frame(of: name))
    case .arithmetic(let left, let arithmetic, let right):
      let sides = (try segment(left, as: .plain), try segment(right, as: .plain))
      let type = try scope.type(of: operand)
      if arithmetic == .power || arithmetic == .remainder || type == .decimal {
        return dialect.applied(
          form, to: "\(SQLFunction.compute.name)(" + sides.0 + ", '\(arithmetic.rawValue)', " + sides.1 + ")")
      }
      return dialect.applied(form, to: "(" + sides.0 + " \(arithmetic.rawValue) " + sides.1 + ")")
    case .function(let function, let inner):
      return dialect.applied(form, to: dialect.call(function, try segment(inner, as: .plain)))
    case .aggregate(let aggregation, let collection, let variable, let condition):
      let value = try subselect(collection, variable, condition: condition, aggregation: aggregation)
      // An extreme of decimals is a number already where the database has those.
      let isNumber = form == .decimal && !dialect.callsSwift
      return dialect.applied(isNumber ? .plain : form, to: "(" + value + ")")
    case .entityName(let object): return dialect.applied(form, to: try entityName(of: object))
    }
  }

  /// Returns the SQL of an aggregation over the rows of a subselect; its elements are those of the innermost frame.
  private mutating func result(of aggregation: Operand.Aggregation) throws -> SQLSegment {
    guard let operand = aggregation.operand else { return SQLSegment("count(*)") }
    let isDecimal = try scope.type(of: operand) == .decimal
    if !dialect.callsSwift {
      let name = if case .min = aggregation { "min" } else { "max" }
      return "\(name)(" + (try segment(operand, as: isDecimal ? .decimal : .plain)) + ")"
    }
    let name =
      switch aggregation {
      case .count: "count"
      case .sum: SQLAggregate.sum.name
      case .average: SQLAggregate.average.name
      case .min: isDecimal ? SQLAggregate.smallestDecimal.name : "min"
      case .max: isDecimal ? SQLAggregate.largestDecimal.name : "max"
      }
    return "\(name)(" + (try segment(operand, as: .plain)) + ")"
  }

  /// The name of the entity of an object that a path leads to.
  private mutating func entityName(of object: Operand) throws -> SQLSegment {
    guard let entity = try scope.entity(ofObjects: object), let (variable, names) = object.path else {
      throw ConditionError(.typeMismatch, "only objects have an entity", fragment: "\(object)")
    }
    let key = try segment(object, as: .plain)
    guard entity.isInHierarchy else {
      let name = "CASE WHEN " + key + " IS NULL THEN NULL ELSE \(SchemaName.literal(entity.name)) END"
      return dialect.orderedByCodePoints(name)
    }
    if names.isEmpty {
      return SQLSegment("\(frames[frame(of: variable)].alias).\(SchemaName.quoted(SchemaName.entity))")
    }
    // The column beside the reference.
    let path = try scope.path(names, from: variable)
    let column = dialect.entityColumnName(of: path.last) ?? dialect.columnName(of: path.last)
    return segment(path, as: .plain, frame: frame(of: variable), column: column)
  }

  /// The place of a variable's table among the frames; the first for the queried objects.
  private func frame(of variable: String?) -> Int { variable.flatMap(scope.index).map { $0 + 1 } ?? 0 }

  /// A correlated subselect over the elements of a to-many relationship that meet a condition.
  ///
  /// - Parameter aggregation: what is computed of them; nil if it only matters whether there is one.
  private mutating func subselect(
    _ collection: Operand.Collection, _ variable: String, condition: Condition,
    aggregation: Operand.Aggregation? = nil
  ) throws -> SQLSegment {
    let path = try scope.path(of: collection)
    let destination = try scope.destination(of: collection)
    let origin = frame(of: collection.variable)
    var owner = frames[origin].alias
    for (index, relationship) in path.toOne.enumerated() {
      owner = joined(path.toOne[...index].map(\.name), relationship, from: owner, frame: origin)
    }
    let key = "\(owner).\(SchemaName.quoted(SchemaName.key))"
    let element = nextAlias()
    let table = "\(dialect.quoted(destination.root.name)) AS \(element)"
    let source: String
    let link: String
    if let joinTable = path.toMany.joinTable {
      let (own, other) =
        path.toMany.isLeftEnd
        ? (joinTable.leftColumn, joinTable.rightColumn) : (joinTable.rightColumn, joinTable.leftColumn)
      let alias = nextAlias()
      source =
        "\(dialect.quoted(joinTable.name)) AS \(alias) JOIN \(table) "
        + "ON \(element).\(SchemaName.quoted(SchemaName.key)) = \(alias).\(dialect.quoted(other))"
      link = "\(alias).\(dialect.quoted(own)) = \(key)"
    } else {
      source = table
      let column = path.toMany.inverse.map(dialect.columnName) ?? ""
      link = "\(element).\(SchemaName.quoted(column)) = \(key)"
    }
    let outer = scope
    scope = scope.binding(variable, to: destination)
    frames.append(Frame(alias: element))
    let selected = try aggregation.map { aggregation in try result(of: aggregation) }
    let test = try segment(condition)
    let frame = frames.removeLast()
    scope = outer
    let joins = frame.joins.map(\.clause).joined()
    let filter = condition == .constant(true) ? SQLSegment() : " AND " + test
    return "SELECT " + (selected ?? SQLSegment("1")) + " FROM \(source)\(joins) WHERE \(link)" + filter
  }

  private mutating func nextAlias() -> String {
    defer { aliasCount += 1 }
    return "t\(aliasCount)"
  }

  /// The column at the end of a path, its tables joined.
  ///
  /// - Parameter column: another column of that row, if it is wanted in place of the property's.
  mutating func segment(
    _ path: PropertyPath, as form: ComparisonForm, frame: Int = 0, column: String? = nil
  ) -> SQLSegment {
    var alias = frames[frame].alias
    var names: [String] = []
    for relationship in path.relationships {
      names.append(relationship.name)
      alias = joined(names, relationship, from: alias, frame: frame)
    }
    let value = SQLSegment("\(alias).\(SchemaName.quoted(column ?? dialect.columnName(of: path.last)))")
    if form == .decimal, path.type != .decimal { return dialect.decimal(ofInteger: value) }
    return dialect.applied(form, to: value)
  }

  private mutating func joined(
    _ path: [String], _ relationship: Property, from source: String, frame: Int
  ) -> String {
    if let known = frames[frame].joins.first(where: { $0.path == path }) { return known.alias }
    let alias = nextAlias()
    let table = dialect.quoted(relationship.destination?.root.name ?? "")
    let reference = "\(source).\(SchemaName.quoted(dialect.columnName(of: relationship)))"
    let key = "\(alias).\(SchemaName.quoted(SchemaName.key))"
    frames[frame].joins.append(
      Join(path: path, alias: alias, clause: " LEFT JOIN \(table) AS \(alias) ON \(key) = \(reference)"))
    return alias
  }

  private func binding(_ operand: Operand, _ form: ComparisonForm) -> SQLBinding {
    switch operand {
    case .value(let value): form.binding(value, dialect)
    case .object(let id): .integer(id.key)
    case .evaluatedObject, .keyPath, .variable, .variablePath, .arithmetic, .function, .aggregate, .entityName: .null
    }
  }

  /// True if the operand is an object of another stack, which equals none of this store's.
  private func isForeign(_ operand: Operand) -> Bool {
    if case .object(let id) = operand { id.coordinatorOrdinal != coordinatorOrdinal } else { false }
  }
}
