import Foundation
import ObjectModel

/// A fetch whose results are dictionaries: values of rows, or of groups of rows.
struct DictionaryFetch {
  private let registry: ObjectRegistry
  private let columns: [FetchColumn]
  /// The columns whose equal values make a group; those that are not in the dictionaries come last.
  private let groupColumns: [FetchColumn]
  private let isGrouped: Bool
  private let isDistinct: Bool
  private let having: Condition?
  private let groupSorts: [ResolvedSort]
  private let limit: Int?
  private let offset: Int
  private var query: FetchQuery

  /// - Throws: ``ConditionError`` for unknown names, and for what a group has no single value of.
  init<Object>(
    _ request: FetchRequest<Object>, includingPendingChanges: Bool, _ registry: ObjectRegistry
  ) throws {
    let isGrouped =
      !request.propertiesToGroupBy.isEmpty
      || request.propertiesToFetch.contains { if case .aggregate = $0.kind { true } else { false } }
    var ungrouped = request
    ungrouped.includesPendingChanges = includingPendingChanges
    if isGrouped { ungrouped.sortDescriptors = [] }
    query = try FetchQuery(ungrouped, registry.coordinator.model)
    limit = query.limit
    offset = query.offset
    let entity = query.entity
    var columns: [FetchColumn] = []
    for expression in request.propertiesToFetch { columns.append(try FetchColumn(expression, entity)) }
    if columns.isEmpty && !isGrouped { columns = try FetchColumn.all(of: entity) }
    var groups: [FetchColumn] = []
    for name in request.propertiesToGroupBy { groups.append(try FetchColumn(.property(name), entity)) }
    if columns.isEmpty { columns = groups }
    self.columns = columns
    groupColumns = groups
    self.registry = registry
    self.isGrouped = isGrouped
    isDistinct = request.returnsDistinctResults
    having = request.havingCondition
    groupSorts = isGrouped ? request.sortDescriptors.map(\.asWritten) : []
    try checkRules(request.propertiesToGroupBy)
    // What comes after the rows must see all of them.
    if isGrouped || isDistinct {
      query.limit = nil
      query.offset = 0
    }
  }

  private func checkRules(_ groupNames: [String]) throws {
    if having != nil && groupNames.isEmpty {
      throw ConditionError(.unsupported, "havingCondition chooses groups, so it needs propertiesToGroupBy")
    }
    if let name = columns.duplicateName {
      throw ConditionError(.argument, "two entries of the dictionaries have the same name", fragment: name)
    }
    guard isGrouped else { return }
    for column in columns where !column.isAggregate && !column.isValue {
      if case .property(let path) = column.source, groupNames.contains(path.text) { continue }
      throw ConditionError(
        .unsupported,
        "in a grouped fetch the dictionaries hold aggregates, values and grouped properties; add this one to "
          + "propertiesToGroupBy, or make it an aggregate", fragment: column.name)
    }
  }

  func run() throws -> [[String: Value]] {
    var rows = isGrouped ? try groups() : try plain()
    if isDistinct { rows = rows.unique }
    if isGrouped || isDistinct { rows = Array(rows.dropFirst(offset).prefix(limit ?? .max)) }
    return rows.map { Dictionary(uniqueKeysWithValues: zip(columns.map(\.name), $0)) }
  }

  private func plain() throws -> [[Value]] {
    var reader = RelatedRows()
    var rows: [[Value]] = []
    try FetchExecution(registry, query).forEachRow { id, row, related in
      rows.append(try columns.map { try reader.value($0, id, row: row, related: related) })
    }
    return rows
  }

  private func groups() throws -> [[Value]] {
    var reader = RelatedRows()
    var places: [[Value]: Int] = [:]
    var groups: [[Aggregate?]] = []
    var keys: [[Value]] = []
    let fresh = columns.map(\.aggregate)
    if groupColumns.isEmpty {
      places[[]] = 0
      groups = [fresh]
      keys = [[]]
    }
    try FetchExecution(registry, query).forEachRow { id, row, related in
      let key = try groupColumns.map { try reader.value($0, id, row: row, related: related) }
      let place = places[key] ?? groups.count
      if place == groups.count {
        places[key] = place
        groups.append(fresh)
        keys.append(key)
      }
      for (index, column) in columns.enumerated() {
        guard case .aggregate(_, let path) = column.source else { continue }
        if let path {
          groups[place][index]?.add(try reader.value(path, row, related: related))
        } else {
          groups[place][index]?.addRow()
        }
      }
    }
    let results = try zip(keys, groups).map { key, aggregates in try result(key, aggregates) }
    return try GroupTable(columns).arranged(results, having: having, sorts: groupSorts)
  }

  private func result(_ key: [Value], _ aggregates: [Aggregate?]) throws -> [Value] {
    try zip(columns, aggregates).map { column, aggregate in
      if let aggregate { return try aggregate.result() }
      switch column.source {
      case .value(let value): return value
      case .property(let path):
        return groupColumns.firstIndex { $0.name == path.text }.map { key[$0] } ?? .null
      case .aggregate, .objectID, .computed: return .null
      }
    }
  }
}

extension FetchColumn {
  /// The aggregate that gathers the column's values of a group; nil if the column is no aggregate.
  fileprivate var aggregate: Aggregate? {
    guard case .aggregate(let function, let path) = source else { return nil }
    return Aggregate(function, isDecimal: path?.type == .decimal)
  }
}

extension PropertyPath {
  fileprivate var text: String { properties.map(\.name).joined(separator: ".") }
}

extension Sort {
  /// The sort by the names as they are, whatever they name.
  fileprivate var asWritten: ResolvedSort {
    ResolvedSort(keyPath: keyPath, isAscending: isAscending, textOrder: textOrder)
  }
}

extension [FetchColumn] {
  fileprivate var duplicateName: String? {
    var seen: Set<String> = []
    return first { !seen.insert($0.name).inserted }?.name
  }
}

extension [[Value]] {
  fileprivate var unique: Self {
    var seen: Set<[Value]> = []
    return filter { seen.insert($0).inserted }
  }
}
