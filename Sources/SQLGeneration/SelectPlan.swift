import ObjectModel
package import StoreInterface

/// The way to a query's answer: one statement, and what is left to do in memory with the rows that it returns.
package struct SelectPlan: Sendable {
  /// The statement of rows or IDs, or of a count.
  package let statement: SelectStatement
  /// The condition that the statement's rows are still to be tested for; nil if they all meet the query's.
  package let residual: Condition?
  /// The sorts that are left to do; empty if the rows come in the query's order.
  package let sorts: [ResolvedSort]
  /// The limit and offset that are left to apply, after test and order.
  package let limit: Int?
  package let offset: Int
  /// True if the statement returns rows, and not IDs or a count.
  package let hasRows: Bool

  /// True if memory has a part in the answer.
  package var needsMemory: Bool { residual != nil || !sorts.isEmpty }

  /// Plans a fetch or a count.
  ///
  /// - Parameters:
  ///   - query: a query whose condition is resolved for its entity.
  ///   - dialect: the dialect that is to answer as much as it can.
  ///   - isCount: whether the number of objects is wanted, and not the objects.
  /// - Throws: ``ConditionError`` if the condition or a sort does not fit the entity.
  package init(_ query: StoreQuery, dialect: Dialect, isCount: Bool = false) throws {
    let split = try ConditionSplit(query.condition, for: query.entity, dialect: dialect)
    var isOrdered = true
    for sort in query.sortDescriptors {
      let path = try sort.propertyPath(from: query.entity)
      if !dialect.orders(by: ComparisonForm(path.type, sortedBy: sort.textOrder)) { isOrdered = false }
    }
    var asked = query
    asked.condition = split.asked
    residual = split.residual
    if isCount || !isOrdered { asked.sortDescriptors = [] }
    sorts = isCount || isOrdered ? [] : query.sortDescriptors
    let isWhole = residual == nil && sorts.isEmpty
    limit = isWhole ? nil : query.limit
    offset = isWhole ? 0 : max(0, query.offset)
    if !isWhole {
      asked.limit = nil
      asked.offset = 0
      asked.wantsRows = true
    }
    hasRows = asked.wantsRows && !(isCount && isWhole)
    let generator = SelectGenerator(asked, dialect: dialect)
    statement = try isCount && isWhole ? generator.countQuery() : generator.statement()
  }
}
