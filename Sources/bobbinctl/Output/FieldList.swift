import SystemSupport

/// Names and values below each other. Foreign text in values is made safe here.
struct FieldList {
  private var fields: [(name: String, value: String, style: Style)] = []

  /// Adds a field unless there is no value.
  ///
  /// - Parameter value: Anything; what could disturb a terminal is escaped, quotation marks and backslashes stay.
  mutating func add(_ name: String, _ value: String?, _ style: Style = .plain) {
    if let value { fields.append((name, singleLine(value), style)) }
  }

  func lines(usesColor: Bool) -> [String] {
    let width = fields.map(\.name.count).max() ?? 0
    return fields.map { field in
      Style.title.applied(to: field.name, usesColor: usesColor)
        + String(repeating: " ", count: width - field.name.count + 2)
        + field.style.applied(to: field.value, usesColor: usesColor)
    }
  }
}
