import Jobs
import ObjectModel
import RecordInput

extension ColumnMapping {
  /// The columns to import, given the fields of the first record.
  func resolved(_ names: [String], _ entity: Entity, input: String) throws(JobFailure) -> [ImportColumn] {
    switch self {
    case .header(let rules):
      // Spreadsheets write empty columns at the end; the source sees to it that nothing is in them.
      let named = names.prefix(names.namedCount)
      if named.isEmpty { throw JobFailure("\(input): line 1: the header names no column") }
      var seen: Set<String> = []
      if let twice = named.first(where: { !seen.insert($0).inserted }) { throw Self.twice(twice, input) }
      var columns: [ImportColumn] = []
      for (position, name) in named.enumerated() {
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
      var columns: [ImportColumn] = []
      for var column in wanted {
        guard let position = names.firstIndex(of: column.label) else {
          let known = names.map { "\"\($0)\"" }.joined(separator: ", ")
          throw JobFailure("\(input): line 1: the header has no column \"\(column.label)\"; it has \(known)")
        }
        // Only what is used must be told apart.
        if names[(position + 1)...].contains(column.label) { throw Self.twice(column.label, input) }
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

  private static func twice(_ name: String, _ input: String) -> JobFailure {
    JobFailure("\(input): line 1: the header names the column \"\(name)\" twice")
  }
}
