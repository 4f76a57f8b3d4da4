import ObjectModel
package import StoreInterface

/// Writes the SQL that answers a query, with the results that evaluation in memory has.
package struct SelectGenerator {
  private let query: StoreQuery
  private let dialect: Dialect

  /// - Parameters:
  ///   - query: a query whose condition is resolved for its entity, and that the dialect can answer alone.
  ///   - dialect: the dialect to write; see ``SelectPlan`` for those that may need memory's help.
  package init(_ query: StoreQuery, dialect: Dialect = .sqlite) {
    self.query = query
    self.dialect = dialect
  }

  /// Returns the statement of the query: rows or IDs, in its order, within its limit.
  ///
  /// - Throws: ``ConditionError`` if the condition or a sort can't be answered in SQL.
  package func statement() throws -> SelectStatement {
    query.wantsRows ? try rowQuery() : try idQuery()
  }

  /// Selects objects with their values.
  package func rowQuery() throws -> SelectStatement {
    try select([SchemaName.key, SchemaName.version] + entityColumn + valueColumns)
  }

  /// Selects objects without their values.
  package func idQuery() throws -> SelectStatement { try select([SchemaName.key] + entityColumn) }

  /// Counts objects, within the query's limit.
  package func countQuery() throws -> SelectStatement {
    var conditions = ConditionGenerator(query, dialect: dialect)
    let filter = try filter(&conditions)
    let source = SQLSegment(conditions.fromClause) + filter
    if query.limit == nil && query.offset <= 0 {
      return SelectStatement(segment: dialect.finished("SELECT count(*)" + source), columns: [])
    }
    let name = dialect == .sqlite ? ")" : ") AS matches"
    let window = dialect.window(limit: query.limit, offset: query.offset)
    return SelectStatement(
      segment: dialect.finished("SELECT count(*) FROM (SELECT 1" + source + window + name), columns: [])
  }

  private var entityColumn: [String] { query.entity.isInHierarchy ? [SchemaName.entity] : [] }

  /// The columns of the properties; siblings that name a property alike share its column.
  private var valueColumns: [String] {
    var columns: [String] = []
    var known: Set<String> = []
    let entities = query.includesSubentities ? query.entity.withDescendants : [query.entity]
    for property in entities.flatMap(\.properties) where property.isPersistent {
      let name = dialect.columnName(of: property)
      guard known.insert(name).inserted else { continue }
      columns.append(name)
      if let column = dialect.entityColumnName(of: property) { columns.append(column) }
      if let column = dialect.fileColumnName(of: property) { columns.append(column) }
    }
    return columns
  }

  private func select(_ columns: [String]) throws -> SelectStatement {
    var conditions = ConditionGenerator(query, dialect: dialect)
    let filter = try filter(&conditions)
    let order = try order(&conditions)
    let list = columns.map { conditions.column($0) }.joined(separator: ", ")
    let window = dialect.window(limit: query.limit, offset: query.offset)
    let segment = SQLSegment("SELECT \(list)") + conditions.fromClause + filter + order + window
    return SelectStatement(segment: dialect.finished(segment), columns: columns)
  }

  private func filter(_ conditions: inout ConditionGenerator) throws -> SQLSegment {
    var parts: [SQLSegment] = []
    if let entities = entityFilter(conditions) { parts.append(entities) }
    if let condition = query.condition { parts.append(try conditions.segment(condition)) }
    return parts.isEmpty ? SQLSegment() : " WHERE " + parts.joined(separator: " AND ")
  }

  /// Chooses the rows of the queried entities among those of their family.
  private func entityFilter(_ conditions: ConditionGenerator) -> SQLSegment? {
    let entity = query.entity
    guard entity.isInHierarchy, !(query.includesSubentities && entity === entity.root) else { return nil }
    let entities = query.includesSubentities ? entity.withDescendants : [entity]
    let names = entities.map { SQLSegment(binding: .text($0.name)) }
    let column = SQLSegment(conditions.column(SchemaName.entity))
    return names.count == 1 ? column + " = " + names[0] : column + " IN (" + names.joined(separator: ", ") + ")"
  }

  /// Ascending puts nil first; ties are broken by the key.
  private func order(_ conditions: inout ConditionGenerator) throws -> SQLSegment {
    var keys: [SQLSegment] = []
    for sort in query.sortDescriptors {
      let path = try sort.propertyPath(from: query.entity)
      let key = conditions.segment(path, as: ComparisonForm(path.type, sortedBy: sort.textOrder))
      keys.append(dialect.order(key, isAscending: sort.isAscending))
    }
    keys.append(SQLSegment(conditions.column(SchemaName.key)))
    return " ORDER BY " + keys.joined(separator: ", ")
  }
}

/// A query in SQL, and the names of its result's columns.
package struct SelectStatement: Sendable, Hashable {
  package let segment: SQLSegment
  /// The columns of the result in order: `_key`, for rows `_version`, in a hierarchy `_entity`, then for rows every
  /// column of a persistent property of the queried entities. Empty for a count.
  package let columns: [String]

  /// The column that tells the entity, or nil if the table has one entity only.
  package var entityColumn: Int? { columns.firstIndex(of: SchemaName.entity) }
}
