import ObjectModel
import StoreInterface

/// Looks for rows that the new model has no place for, before anything is changed; reads only.
struct MigrationChecks {
  let database: any MigrationDatabase
  let plan: MigrationPlan

  func problems() throws(StoreError) -> [MigrationProblem] {
    var problems: [MigrationProblem] = []
    for table in plan.tables {
      for contribution in table.contributions {
        if contribution.entity.isAbstract {
          problems += try abstract(contribution)
        } else {
          for property in contribution.entity.properties { problems += try attribute(property, contribution) }
        }
      }
      problems += try constraints(table)
    }
    return problems
  }

  private func abstract(_ contribution: MigrationPlan.Contribution) throws(StoreError) -> [MigrationProblem] {
    guard let found = try rows(of: contribution, where: "1 = 1") else { return [] }
    return [
      MigrationProblem(
        "\(contribution.entity.name) is abstract now, and the store has \(found)",
        remedies: [MigrationRemedy.drop(contribution.origin)])
    ]
  }

  private func attribute(
    _ property: Property, _ contribution: MigrationPlan.Contribution
  ) throws(StoreError) -> [MigrationProblem] {
    let entity = contribution.entity
    guard let mapping = plan.mapping.attributeMapping(of: property, in: entity), let attribute = property.attribute
    else {
      return []
    }
    var problems: [MigrationProblem] = []
    let spelling = "\(entity.name).\(property.name)"
    let column = mapping.origin.map { SchemaName.quoted(plan.dialect.columnName(of: $0)) }
    let file = mapping.origin.flatMap { plan.dialect.fileColumnName(of: $0) }.map(SchemaName.quoted)
    var isLost: String?
    // What is neither inferred nor asked for is a problem whatever the values are, and told already.
    if let conversion = plan.conversion(of: property, in: contribution), let column,
      conversion.conversion.isInferred || mapping.isStated
    {
      isLost = "\(column) IS NOT NULL AND \(plan.dialect.converted(conversion)) IS NULL"
    }
    if let isLost, mapping.fallback == .refuse, let former = mapping.origin?.attribute?.type,
      let found = try rows(of: contribution, where: isLost)
    {
      problems.append(
        MigrationProblem(
          "\(spelling) was \(former.rawValue) and is \(attribute.type.rawValue) now, and the values of \(found) "
            + (mapping.isStated ? "can't be converted" : "would not survive that"),
          remedies: MigrationRemedy.convert(
            spelling, to: attribute.type, orDrop: "\(contribution.origin.name).\(mapping.origin?.name ?? "")"
          ).filter { !mapping.isStated || $0 != "convert \(spelling)" }))
    }
    guard mapping.needsValue else { return problems }
    let canBecomeNull = mapping.fallback == .replace(.null) ? isLost : nil
    let isMissing = [column, file].compactMap { $0.map { "\($0) IS NULL" } }.joined(separator: " AND ")
    let condition = isMissing.isEmpty ? "1 = 1" : isMissing + (canBecomeNull.map { " OR \($0)" } ?? "")
    if let found = try rows(of: contribution, where: condition) {
      problems.append(
        MigrationProblem(
          (column == nil
            ? "\(spelling) is new, not optional and without a default for "
            : "\(spelling) was optional and has no default for ") + found + (column == nil ? "" : " without a value"),
          remedies: [MigrationRemedy.fill(spelling, attribute.type)]))
    }
    return problems
  }

  /// Values that a new uniqueness constraint forbids; what is computed from parameters is left to the index.
  private func constraints(_ table: MigrationPlan.TablePlan) throws(StoreError) -> [MigrationProblem] {
    var problems: [MigrationProblem] = []
    for member in table.table.members {
      for constraint in member.entityDescription.uniquenessConstraints where !constraint.isEmpty {
        let contributions = table.contributions.filter { $0.entity.isKind(of: member) }
        let wasThere = contributions.allSatisfy { isOld(constraint, $0) }
        if wasThere && contributions.count < 2 { continue }
        var selects: [String] = []
        for contribution in contributions {
          let mapping = RowMapping(plan, contribution)
          let names = constraint.compactMap { contribution.entity.property(named: $0).map(plan.dialect.columnName) }
          if !mapping.computedColumns.isDisjoint(with: names) { return problems }
          let values = names.map { mapping.expressions[$0] ?? "NULL" }
          let columns = values.enumerated().map { "\($1) AS c\($0)" }.joined(separator: ", ")
          selects.append(
            "SELECT \(columns) FROM \(SchemaName.quoted(contribution.source.name))\(contribution.condition)")
        }
        if selects.isEmpty { continue }
        let names = constraint.indices.map { "c\($0)" }
        let count = try database.integer(
          """
          SELECT count(*) FROM (SELECT 1 FROM (\(selects.joined(separator: " UNION ALL "))) AS v \
          WHERE \(names.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")) \
          GROUP BY \(names.joined(separator: ", ")) HAVING count(*) > 1) AS d
          """)
        if count > 0 {
          let spelling = constraint.map { "\(member.name).\($0)" }.joined(separator: " and ")
          problems.append(
            MigrationProblem(
              "another object has the same \(spelling), which the model demands to be unique now: "
                + "\(count) \(count == 1 ? "value is" : "values are") there more than once"))
        }
      }
    }
    return problems
  }

  private func isOld(_ constraint: [String], _ contribution: MigrationPlan.Contribution) -> Bool {
    let names = constraint.map { name in
      contribution.entity.property(named: name).flatMap { property -> String? in
        if plan.mapping.attributeMapping(of: property, in: contribution.entity)?.conversion != nil { return nil }
        return plan.mapping.origin(of: property, in: contribution.entity)?.name
      }
    }
    return sequence(first: contribution.origin, next: \.parent).contains { entity in
      entity.entityDescription.uniquenessConstraints.contains { $0.map(Optional.some) == names }
    }
  }

  /// Returns how many rows of a contribution meet a condition, and the keys of the first; nil if none does.
  private func rows(
    of contribution: MigrationPlan.Contribution, where condition: String
  ) throws(StoreError) -> String? {
    let known =
      contribution.source.tellsEntity
      ? "\(SchemaName.entity) = \(SchemaName.literal(contribution.origin.name)) AND " : ""
    let rest = "FROM \(SchemaName.quoted(contribution.source.name)) WHERE \(known)(\(condition))"
    let keys = try database.rows("SELECT _key \(rest) ORDER BY _key LIMIT 3").compactMap { row in
      if case .integer(let key)? = row.first { String(key) } else { nil }
    }
    if keys.isEmpty { return nil }
    let count = try database.integer("SELECT count(*) \(rest)")
    let named = (count == 1 ? "key " : "keys ") + keys.joined(separator: ", ") + (count > 3 ? ", ..." : "")
    return "\(count) \(count == 1 ? "object" : "objects") (\(named))"
  }
}
