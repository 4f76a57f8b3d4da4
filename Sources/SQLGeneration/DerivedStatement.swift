package import ObjectModel
package import StoreInterface

/// The SQL that computes a derived attribute.
package struct DerivedStatement: Sendable {
  package let attribute: DerivedAttribute

  package init(_ attribute: DerivedAttribute) { self.attribute = attribute }

  private var table: String { SchemaName.quoted(attribute.entity.root.name) }
  private var column: String { SchemaName.quoted(attribute.property.columnName) }

  /// Computes the attribute of the objects whose keys are in a JSON array, the first parameter; the second is the time.
  ///
  /// Returns key and new value of those that change.
  package var updateSQL: String { "\(assignment) AND \(condition) RETURNING _key, \(column)" }

  /// Computes the attribute of all objects; the second parameter is the time.
  package var updateAllSQL: String {
    // A time that is known already stays.
    let missing = attribute.operation == .now ? " AND \(column) IS NULL" : ""
    return "\(assignment)\(missing) AND ?1 IS NULL"
  }

  private var assignment: String {
    var sql = "UPDATE \(table) SET \(column) = \(expression) WHERE "
    if attribute.entity.isInHierarchy {
      let names = attribute.entity.withDescendants.map { SchemaName.literal($0.name) }.joined(separator: ", ")
      sql += "\(SchemaName.entity) IN (\(names))"
    } else {
      sql += "1"
    }
    return sql
  }

  private var condition: String {
    let isNew = attribute.operation == .now ? "" : " AND \(column) IS NOT \(expression)"
    return "_key IN (SELECT value FROM json_each(?1))" + isNew
  }

  /// The keys of objects from which a hop leads to one of those whose keys are in a JSON array, the parameter.
  package static func nearSQL(_ hop: Property, origin: Entity) -> String? {
    let keys = "IN (SELECT value FROM json_each(?1))"
    if let join = hop.joinTable {
      let (near, far) = columns(join, hop)
      return "SELECT \(near) FROM \(SchemaName.quoted(join.name)) WHERE \(far) \(keys)"
    }
    if hop.storage == .reference {
      return
        "SELECT _key FROM \(SchemaName.quoted(origin.root.name)) WHERE \(SchemaName.quoted(hop.columnName)) \(keys)"
    }
    guard let inverse = hop.inverse, let destination = hop.destination else { return nil }
    let column = SchemaName.quoted(inverse.columnName)
    return "SELECT DISTINCT \(column) FROM \(SchemaName.quoted(destination.root.name)) "
      + "WHERE _key \(keys) AND \(column) IS NOT NULL"
  }

  private static func columns(_ join: JoinTable, _ hop: Property) -> (near: String, far: String) {
    let (left, right) = (SchemaName.quoted(join.leftColumn), SchemaName.quoted(join.rightColumn))
    return hop.isLeftEnd ? (left, right) : (right, left)
  }

  // MARK: The value

  private var expression: String {
    switch attribute.operation {
    case .now: return "?2"
    case .copy: return path
    case .canonical: return "bobbin_fold(\(path), \(Condition.TextOptions.caseAndMarks))"
    case .lowercase, .uppercase: return "bobbin_\(attribute.operation.rawValue)(\(path))"
    case .count, .sum, .min, .max, .average: return aggregate
    }
  }

  /// The attribute at the end of to-one relationships.
  private var path: String {
    guard let source = attribute.source else { return "NULL" }
    return value(SchemaName.quoted(source.columnName), behind: attribute.hops)
  }

  /// A column of the object itself, or of the one that to-one relationships lead to.
  private func value(_ column: String, behind hops: [Property]) -> String {
    guard let first = hops.first else { return "\(table).\(column)" }
    var source = ""
    for (index, hop) in hops.enumerated() {
      let destination = SchemaName.quoted(hop.destination?.root.name ?? "")
      source +=
        index == 0
        ? "\(destination) AS h0"
        : " JOIN \(destination) AS h\(index) ON h\(index)._key = h\(index - 1).\(SchemaName.quoted(hop.columnName))"
    }
    return
      "(SELECT h\(hops.count - 1).\(column) FROM \(source) WHERE h0._key = \(table).\(SchemaName.quoted(first.columnName)))"
  }

  private var aggregate: String {
    guard let hop = attribute.hops.last, let destination = hop.destination else { return "NULL" }
    let owner = value(SchemaName.quoted(SchemaName.key), behind: Array(attribute.hops.dropLast()))
    var source = "\(SchemaName.quoted(destination.root.name)) AS e"
    let link: String
    if let join = hop.joinTable {
      let (near, far) = Self.columns(join, hop)
      source = "\(SchemaName.quoted(join.name)) AS j JOIN \(source) ON e._key = j.\(far)"
      link = "j.\(near)"
    } else {
      link = "e.\(SchemaName.quoted(hop.inverse?.columnName ?? ""))"
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
    let column = "e.\(SchemaName.quoted(source.columnName))"
    let name = attribute.operation.rawValue
    if source.attribute?.type == .decimal { return "bobbin_decimal_\(name)(group_concat(\(column), ' '))" }
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
