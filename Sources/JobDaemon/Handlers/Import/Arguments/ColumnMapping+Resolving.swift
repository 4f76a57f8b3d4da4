import Jobs
import ObjectModel

extension ColumnMapping {
  /// The columns to import, given the fields of the first record.
  func resolved(_ names: [String], _ entity: Entity, input: String) throws(JobFailure) -> [ImportColumn] {
    switch self {
    case .header(let rules):
      try checkDistinct(names, input)
      var columns: [ImportColumn] = []
      for (position, name) in names.enumerated() {
        if let problem = ImportColumn.problem(name, entity) {
          throw JobFailure("\(input): line 1: column \(position + 1): \(problem)")
        }
        guard let property = entity.property(named: name), let attribute = property.attribute else { continue }
        columns.append(
          ImportColumn(
            position: position, label: name, property: property, target: .attribute(attribute), rules: rules))
      }
      return columns
    case .named(let wanted):
      try checkDistinct(names, input)
      var columns: [ImportColumn] = []
      for var column in wanted {
        guard let position = names.firstIndex(of: column.label) else {
          let known = names.map { "\"\($0)\"" }.joined(separator: ", ")
          throw JobFailure("\(input): line 1: the header has no column \"\(column.label)\"; it has \(known)")
        }
        column.position = position
        columns.append(column)
      }
      return columns
    case .positions(let columns):
      if !names.isEmpty && names.count != columns.count {
        throw JobFailure(
          "\(input): line 1: the record has \(names.count) fields, but \"columns\" lists \(columns.count)")
      }
      return columns.compactMap(\.self)
    }
  }

  private func checkDistinct(_ names: [String], _ input: String) throws(JobFailure) {
    if let twice = Dictionary(grouping: names, by: \.self).first(where: { $0.value.count > 1 })?.key {
      throw JobFailure("\(input): line 1: the header names the column \"\(twice)\" twice")
    }
  }
}
