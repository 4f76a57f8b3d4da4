import ObjectModel

// What a fetch answers, by trying every object.

extension GraphModel {
  /// The objects that match, in the order of the sort; those that it leaves equal by number.
  func matches(_ query: Query, _ context: Int) -> [Int] {
    guard let entity = schema.entity(named: query.entity) else { return [] }
    let all = all(context)
    let links = Dictionary(uniqueKeysWithValues: schema.relations.indices.map { ($0, self.links(of: $0, context)) })
    func destinations(_ number: Int, _ end: Schema.End) -> [Int] {
      self.destinations(number, end, all, links[end.relation] ?? [:])
    }
    // Nothing compares with nil but nil.
    func holds(_ test: Query.Test, _ number: Int, _ row: Row) -> Bool {
      switch test {
      case .equal(let name, let value): return row.cells[name] == (value.isNull ? nil : .value(value))
      case .atLeast(let name, let least):
        guard case .value(.integer(let value))? = row.cells[name], case .integer(let least) = least else {
          return false
        }
        return value >= least
      case .leadsTo(let name, let other): return row.cells[name] == other.map(Cell.reference)
      case .count(let name, let count): return schema.end(name).map { destinations(number, $0).count >= count } ?? false
      case .any(let name, let attribute, let value):
        guard let end = schema.end(name) else { return false }
        return destinations(number, end).contains { all[$0]?.cells[attribute] == .value(value) }
      case .not(let test): return !holds(test, number, row)
      case .both(let first, let second): return holds(first, number, row) && holds(second, number, row)
      }
    }
    let found = all.filter { number, row in
      guard query.includesSubentities ? schema.isKind(row.entity, of: entity) : row.entity == entity else {
        return false
      }
      return query.test.map { holds($0, number, row) } ?? true
    }
    let sorted = found.sorted { first, second in
      guard let name = query.sortBy else { return first.key < second.key }
      let (left, right) = (integer(first.value.cells[name]), integer(second.value.cells[name]))
      return left != right ? left < right : first.key < second.key
    }
    return sorted.map(\.key)
  }

  /// The value that a sort compares; nil comes first.
  private func integer(_ cell: Cell?) -> Int64 { if case .value(.integer(let value))? = cell { value } else { .min } }

  func sortKey(_ number: Int, _ query: Query, _ context: Int) -> Int64 {
    query.sortBy.map { integer(fetched(number, context)?.cells[$0]) } ?? 0
  }
}
