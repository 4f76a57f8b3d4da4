package import ObjectModel
package import StoreInterface

/// The SQL that computes a derived attribute.
package struct DerivedStatement: Sendable {
  package let attribute: DerivedAttribute
  private let dialect: Dialect

  package init(_ attribute: DerivedAttribute, dialect: Dialect = .sqlite) {
    self.attribute = attribute
    self.dialect = dialect
  }

  private var table: String { dialect.quoted(attribute.entity.root.name) }
  private var column: String { name(of: attribute.property) }

  private func name(of property: Property) -> String { SchemaName.quoted(dialect.columnName(of: property)) }

  /// Computes the attribute of the objects whose keys are in a list, the first parameter; the second is the time.
  ///
  /// The list is a JSON array for SQLite and an array elsewhere; the time is a parameter of ``Derivation/Operation/now``
  /// only. Returns key and new value of those that change. Not for attributes that are ``finishedInSwift``.
  package var updateSQL: String { "\(assignment) AND \(condition) RETURNING _key, \(column)" }

  /// The same for PostgreSQL, which returns the others behind those that change, and a third column: 1 of those, 0 of these.
  package var updateTellingAllSQL: String {
    """
    WITH changed AS (\(updateSQL)) SELECT _key, \(column), 1::bigint FROM changed UNION ALL \
    SELECT _key, \(column), 0::bigint FROM \(table) \
    WHERE \(family) AND _key \(dialect.isAmong(parameter: 1)) AND _key NOT IN (SELECT _key FROM changed)
    """
  }

  /// Computes the attribute of all objects; the second parameter is the time.
  package var updateAllSQL: String {
    // A time that is known already stays.
    let missing = attribute.operation == .now ? " AND \(column) IS NULL" : ""
    let type = dialect == .postgres ? "::bigint[]" : ""
    return "\(assignment)\(missing) AND \(dialect.parameter(1))\(type) IS NULL"
  }

  /// Selects key, present value and source of the objects whose keys are in an array, the parameter, or of all.
  ///
  /// The source is a text, or null: what ``finished(_:)`` makes the value of.
  package func sourceSQL(ofAll isOfAll: Bool = false) -> String {
    let keys = isOfAll ? "" : " AND _key \(dialect.isAmong(parameter: 1))"
    return "SELECT _key, \(column), \(source) FROM \(table) WHERE \(family)\(keys)"
  }

  /// True if the database can't compute the value, because that needs Swift's functions.
  package var finishedInSwift: Bool {
    if dialect.callsSwift { return false }
    switch attribute.operation {
    case .canonical, .lowercase, .uppercase: return true
    case .sum, .min, .max, .average: return attribute.source?.attribute?.type == .decimal
    case .now, .copy, .count: return false
    }
  }

  /// The value that comes of a source, which ``sourceSQL(ofAll:)`` has selected.
  package func finished(_ source: String?) -> SQLBinding {
    let value: String? =
      switch attribute.operation {
      case .sum, .min, .max, .average: DecimalAggregate.result(attribute.operation.rawValue, source)
      default: source.map(attribute.operation.applied)
      }
    return value.map(SQLBinding.text) ?? .null
  }

  private var assignment: String {
    "UPDATE \(table) SET \(column) = \(expression) WHERE \(family)"
  }

  /// A test for the rows of objects that have the attribute.
  private var family: String {
    guard attribute.entity.isInHierarchy else { return dialect.truth(true) }
    let names = attribute.entity.withDescendants.map { SchemaName.literal($0.name) }.joined(separator: ", ")
    return "\(SchemaName.entity) IN (\(names))"
  }

  private var condition: String {
    let isNew =
      attribute.operation == .now
      ? "" : " AND " + dialect.inequality(SQLSegment(column), SQLSegment(expression)).text
    return "_key \(dialect.isAmong(parameter: 1))" + isNew
  }

  /// The keys of objects from which a hop leads to one of those whose keys are in a list, the parameter.
  package static func nearSQL(_ hop: Property, origin: Entity, dialect: Dialect = .sqlite) -> String? {
    let keys = dialect.isAmong(parameter: 1)
    if let join = hop.joinTable {
      let (near, far) = columns(join, hop, in: dialect)
      return "SELECT \(near) FROM \(dialect.quoted(join.name)) WHERE \(far) \(keys)"
    }
    if hop.storage == .reference {
      let column = SchemaName.quoted(dialect.columnName(of: hop))
      return "SELECT _key FROM \(dialect.quoted(origin.root.name)) WHERE \(column) \(keys)"
    }
    guard let inverse = hop.inverse, let destination = hop.destination else { return nil }
    let column = SchemaName.quoted(dialect.columnName(of: inverse))
    return "SELECT DISTINCT \(column) FROM \(dialect.quoted(destination.root.name)) "
      + "WHERE _key \(keys) AND \(column) IS NOT NULL"
  }

  private static func columns(_ join: JoinTable, _ hop: Property, in dialect: Dialect) -> (near: String, far: String) {
    let (left, right) = (dialect.quoted(join.leftColumn), dialect.quoted(join.rightColumn))
    return hop.isLeftEnd ? (left, right) : (right, left)
  }

  // MARK: The value

  private var expression: String {
    switch attribute.operation {
    case .now: return dialect.parameter(2)
    case .copy: return path
    case .canonical: return "bobbin_fold(\(path), \(Condition.TextOptions.caseAndMarks))"
    case .lowercase, .uppercase: return "bobbin_\(attribute.operation.rawValue)(\(path))"
    case .count, .sum, .min, .max, .average: return aggregate
    }
  }

  /// The source that ``finished(_:)`` makes the value of.
  private var source: String {
    switch attribute.operation {
    case .sum, .min, .max, .average: aggregate
    default: path
    }
  }

  /// The attribute at the end of to-one relationships.
  private var path: String {
    guard let source = attribute.source else { return "NULL" }
    return value(name(of: source), behind: attribute.hops)
  }

  /// A column of the object itself, or of the one that to-one relationships lead to.
  private func value(_ column: String, behind hops: [Property]) -> String {
    guard let first = hops.first else { return "\(table).\(column)" }
    var source = ""
    for (index, hop) in hops.enumerated() {
      let destination = dialect.quoted(hop.destination?.root.name ?? "")
      source +=
        index == 0
        ? "\(destination) AS h0"
        : " JOIN \(destination) AS h\(index) ON h\(index)._key = h\(index - 1).\(name(of: hop))"
    }
    return "(SELECT h\(hops.count - 1).\(column) FROM \(source) WHERE h0._key = \(table).\(name(of: first)))"
  }

  private var aggregate: String {
    guard let hop = attribute.hops.last, let destination = hop.destination else { return "NULL" }
    let owner = value(SchemaName.quoted(SchemaName.key), behind: Array(attribute.hops.dropLast()))
    var source = "\(dialect.quoted(destination.root.name)) AS e"
    let link: String
    if let join = hop.joinTable {
      let (near, far) = Self.columns(join, hop, in: dialect)
      source = "\(dialect.quoted(join.name)) AS j JOIN \(source) ON e._key = j.\(far)"
      link = "j.\(near)"
    } else {
      link = "e.\(hop.inverse.map(name) ?? SchemaName.quoted(""))"
    }
    var condition = "\(link) = \(owner)"
    if destination !== destination.root {
      // Entities beside the destination may have a property of the same name, which shares the column.
      let names = destination.withDescendants.map { SchemaName.literal($0.name) }.joined(separator: ", ")
      condition += " AND e.\(SchemaName.entity) IN (\(names))"
    }
    return "(SELECT \(function) FROM \(source) WHERE \(condition))"
  }

  private var function: String {
    guard let source = attribute.source else { return "count(*)" }
    let column = "e.\(name(of: source))"
    let name = attribute.operation.rawValue
    let isDecimal = source.attribute?.type == .decimal
    if dialect == .postgres {
      if isDecimal { return "string_agg(\(column), ' ')" }
      switch attribute.operation {
      case .average: return "avg(\(column)::double precision)"
      // The sum of integers is a numeric; one that 64 bits can't hold is an error, as in SQLite.
      case .sum: return "coalesce(sum(\(column)), 0)::\(dialect.columnType(of: attribute.property.storage))"
      default: return "\(name)(\(column))"
      }
    }
    if isDecimal { return "bobbin_decimal_\(name)(group_concat(\(column), ' '))" }
    switch attribute.operation {
    case .average: return "avg(\(column))"
    case .sum: return "ifnull(sum(\(column)), 0)"
    default: return "\(name)(\(column))"
    }
  }
}

extension Condition.TextOptions {
  fileprivate static var caseAndMarks: UInt8 {
    Condition.TextOptions([.caseInsensitive, .diacriticInsensitive]).rawValue
  }
}
