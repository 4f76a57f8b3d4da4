import ObjectModel

/// Dictionaries as rows of an entity made for them, so that conditions and sorts work on groups as on objects.
struct GroupTable {
  private let columns: [FetchColumn]
  private let model: ManagedObjectModel
  private let entity: Entity
  private let layout: RowLayout

  init(_ columns: [FetchColumn]) throws {
    self.columns = columns
    let attributes = columns.enumerated().map { AttributeDescription(Self.name($0), $1.type) }
    model = try ManagedObjectModel([EntityDescription("Group", attributes: attributes)])
    entity = model.entities[0]
    layout = RowLayout(entity)
  }

  /// The groups that meet a condition, sorted. Both name the entries of the dictionaries.
  func arranged(
    _ groups: [[Value]], having condition: Condition?, sorts: [ResolvedSort]
  ) throws -> [[Value]] {
    if condition == nil && sorts.isEmpty { return groups }
    let resolved = try condition?.mapOperands { operands in
      var mapped: [Operand] = []
      for operand in operands { mapped.append(try self.operand(operand)) }
      return mapped
    }.resolved(for: entity)
    let evaluator = try resolved.map { try ConditionEvaluator($0, entity: entity, related: { _ in nil }) }
    var rows: [(id: ManagedObjectID, row: Row)] = []
    for (index, group) in groups.enumerated() {
      let id = ManagedObjectID(key: Int64(index), entity: entity, coordinatorOrdinal: 0)
      let row = row(group)
      if try evaluator?.matches(id: id, row: row) ?? true { rows.append((id, row)) }
    }
    let own = try sorts.map { sort in
      ResolvedSort(
        keyPath: [try name(sort.keyPath)], isAscending: sort.isAscending, textOrder: sort.textOrder)
    }
    let comparator = try RowComparator(own, entity: entity, related: { _ in nil })
    return try rows.sorted { try comparator.areInIncreasingOrder($0, $1) }.map { groups[Int($0.id.key)] }
  }

  private func row(_ group: [Value]) -> Row {
    var row = Row(layout)
    for (slot, value) in group.enumerated() {
      if let fitting = value.converted(to: columns[slot].type) { row.set(fitting, slot) }
    }
    return row
  }

  private func operand(_ operand: Operand) throws -> Operand {
    switch operand {
    case .keyPath(let names): return .keyPath([try name(names)])
    case .evaluatedObject:
      throw ConditionError(.unsupported, "a group is no object; name what its dictionary holds", fragment: "SELF")
    default: return operand
    }
  }

  private func name(_ keyPath: [String]) throws -> String {
    let joined = keyPath.joined(separator: ".")
    guard let index = columns.firstIndex(where: { $0.name == joined }) else {
      throw ConditionError(
        .unknownProperty, "groups are chosen and sorted by what their dictionaries hold, and that is not in them",
        fragment: joined)
    }
    return Self.name(index)
  }

  private static func name(_ index: Int) -> String { "c\(index)" }
}
