import JSONText
import Jobs
import ObjectModel
import RecordInput

/// The mapping of input columns to properties, as the arguments state it; the input's header completes it.
enum ColumnMapping: Sendable {
  /// The header names attributes, as they are called or as ``ColumnNames`` makes their names of it.
  case header(ValueRules)
  /// Columns by the header's names; others are left out. The labels are names.
  case named([ImportColumn])
  /// The columns in their order, without a header; nil leaves one out.
  case positions([ImportColumn?])

  init(_ reader: ArgumentReader, _ entity: Entity, common: ValueRules) throws(JobFileError) {
    guard let value = reader.value("columns") else {
      self = .header(common)
      return
    }
    if let object = value.object {
      var columns: [ImportColumn] = []
      for (name, target) in object {
        columns.append(
          try Self.column(
            target, label: name, reader: reader, entity: entity, common: common, key: "columns.\(name)"))
      }
      try Self.checkDistinct(columns, reader)
      self = .named(columns)
      return
    }
    guard let list = value.array else {
      throw reader.error("must be an object or a list of attributes, not \(value.kindName)", "columns")
    }
    var columns: [ImportColumn?] = []
    for (index, item) in list.enumerated() {
      if item.isNull {
        columns.append(nil)
        continue
      }
      var column = try Self.column(
        item, label: "\(index + 1)", reader: reader, entity: entity, common: common, key: "columns.\(index)")
      column.position = index
      column.label = column.property.name
      columns.append(column)
    }
    try Self.checkDistinct(columns.compactMap(\.self), reader)
    self = .positions(columns)
  }

  /// Refuses relationships to objects that the import itself makes, where it would depend on the order of records and
  /// on the size of chunks which of them are there.
  func checkOwnObjects(
    _ entity: Entity, _ mode: ImportMode, reader: ArgumentReader
  ) throws(JobFileError) {
    let columns: [ImportColumn] =
      switch self {
      case .header: []
      case .named(let columns): columns
      case .positions(let columns): columns.compactMap(\.self)
      }
    for column in columns {
      guard case .relationship(_, _, let missing) = column.target, let other = column.property.destination,
        other.withDescendants.contains(where: { $0 === entity })
          || entity.withDescendants.contains(where: { $0 === other })
      else { continue }
      if mode == .update && missing != .null { continue }
      throw reader.error(
        "\"\(entity.name).\(column.property.name)\" leads to objects that this import makes itself, some of them later; "
          + "import without it first, and then again with the mode \"update\" and with \"missing\" left out", "columns")
    }
  }

  private static func column(
    _ value: JSONValue, label: String, reader: ArgumentReader, entity: Entity, common: ValueRules, key: String
  ) throws(JobFileError) -> ImportColumn {
    if let name = value.string {
      return try column(name, label: label, entity: entity, rules: common, reader: reader, key: key)
    }
    guard value.object != nil else {
      throw reader.error("must name an attribute or be an object of rules, not \(value.kindName)", key)
    }
    let own = try ArgumentReader(value, path: "arguments." + key)
    try own.allow(["attribute", "relationship", "key", "missing", "default"] + ValueRules.keys)
    var rules = try ValueRules(own, over: common)
    if let fallback = own.value("default") {
      guard let text = ValueRules.text(of: fallback) else {
        throw own.error("must be a string, a number, true or false, not \(fallback.kindName)", "default")
      }
      rules.fallback = text
    }
    if let name = try own.text("relationship") {
      if own.value("attribute") != nil { throw own.error("can't stand beside \"relationship\"", "attribute") }
      return try relationship(name, label: label, entity: entity, rules: rules, reader: own)
    }
    for name in ["key", "missing"] where own.value(name) != nil {
      throw own.error("is only for a relationship", name)
    }
    return try column(
      try own.requiredText("attribute"), label: label, entity: entity, rules: rules, reader: own, key: "attribute")
  }

  private static func column(
    _ name: String, label: String, entity: Entity, rules: ValueRules, reader: ArgumentReader, key: String
  ) throws(JobFileError) -> ImportColumn {
    if let problem = ImportColumn.problem(name, entity) { throw reader.error(problem, key) }
    guard let property = entity.property(named: name), let attribute = property.attribute else {
      throw reader.error("names no attribute", key)
    }
    try check(rules, of: property, attribute, reader: reader)
    return ImportColumn(label: label, property: property, target: .attribute(attribute), rules: rules)
  }

  /// Checks that the value in place of a missing one is valid for the attribute.
  private static func check(
    _ rules: ValueRules, of property: Property, _ attribute: AttributeDescription, reader: ArgumentReader
  ) throws(JobFileError) {
    guard let fallback = rules.fallback else { return }
    if let problem = ColumnBuilder.problem(with: fallback, property, attribute) {
      throw reader.error(problem, "default")
    }
  }

  private static func relationship(
    _ name: String, label: String, entity: Entity, rules: ValueRules, reader: ArgumentReader
  ) throws(JobFileError) -> ImportColumn {
    guard let property = entity.property(named: name), let relationship = property.relationship,
      let destination = property.destination
    else { throw reader.error("the entity \"\(entity.name)\" has no relationship \"\(name)\"", "relationship") }
    guard property.storage == .reference, property.isPersistent else {
      throw reader.error(
        "\"\(entity.name).\(name)\" leads to many objects; import into the entity at its other end", "relationship")
    }
    if property.inverse?.storage == .reference {
      throw reader.error("\"\(entity.name).\(name)\" is one to one, which an import can't fill", "relationship")
    }
    let keyName = try reader.requiredText("key")
    if let problem = ImportColumn.problem(keyName, destination) { throw reader.error(problem, "key") }
    guard let key = destination.property(named: keyName), let attribute = key.attribute else {
      throw reader.error("names no attribute of \"\(destination.name)\"", "key")
    }
    guard ImportKey.isIndexed([keyName], destination) else {
      throw reader.error(
        "objects of \"\(destination.name)\" can't be found by \"\(keyName)\" at once; give the entity a uniqueness "
          + "constraint or a fetch index over it in the model", "key")
    }
    try check(rules, of: key, attribute, reader: reader)
    let missing = try reader.word("missing", ImportColumn.Missing.self) ?? .reject
    if missing == .create { try checkCreatable(destination, key: key, reader: reader) }
    if missing == .null && !relationship.isOptional {
      throw reader.error("can't be \"null\": \"\(entity.name).\(name)\" must lead to an object", "missing")
    }
    return ImportColumn(
      label: label, property: property,
      target: .relationship(key: key, attribute: attribute, missing: missing), rules: rules)
  }

  private static func checkCreatable(
    _ entity: Entity, key: Property, reader: ArgumentReader
  ) throws(JobFileError) {
    if entity.isAbstract { throw reader.error("can't be \"create\": \"\(entity.name)\" is abstract", "missing") }
    if let lacking = entity.missingProperty(given: [key.slot]) {
      throw reader.error(
        "can't be \"create\": \"\(entity.name).\(lacking)\" must have a value and has no default", "missing")
    }
  }

  private static func checkDistinct(_ columns: [ImportColumn], _ reader: ArgumentReader) throws(JobFileError) {
    if columns.isEmpty { throw reader.error("names no attribute", "columns") }
    var seen: Set<String> = []
    for column in columns where !seen.insert(column.property.name).inserted {
      throw reader.error("names the attribute \"\(column.property.name)\" twice", "columns")
    }
  }
}

extension Entity {
  /// A property that must have a value, and would have none if only some slots are given one.
  func missingProperty(given slots: Set<Int>) -> String? {
    properties.first { property in
      if let attribute = property.attribute {
        return property.isPersistent && attribute.derivation == nil && !attribute.isOptional
          && attribute.defaultValue.isNull && !slots.contains(property.slot)
      }
      guard let relationship = property.relationship else { return false }
      return !relationship.isOptional && !slots.contains(property.slot)
    }?.name
  }
}

extension ColumnMapping {
  /// The columns to import, given the fields of the first record.
  func resolved(_ names: [String], _ entity: Entity, input: String) throws -> [ImportColumn] {
    switch self {
    case .header(let rules):
      // Spreadsheets write empty columns at the end; the source sees to it that nothing is in them.
      let named = names.prefix(names.namedCount)
      if named.isEmpty { throw JobFailure("\(input): line 1: the header names no column") }
      var seen: Set<String> = []
      if let twice = named.first(where: { !seen.insert($0).inserted }) { throw Self.twice(twice, input) }
      var columns: [ImportColumn] = []
      for (position, (name, inferred)) in zip(named, ColumnNames.attributes(Array(named))).enumerated() {
        let isInferred =
          entity.property(named: name) == nil && entity.property(named: inferred) != nil && !seen.contains(inferred)
        let attributeName = isInferred ? inferred : name
        if let problem = ImportColumn.problem(attributeName, entity) {
          throw JobFailure("\(input): line 1: column \(position + 1): \(problem)")
        }
        guard let property = entity.property(named: attributeName), let attribute = property.attribute else { continue }
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
        // Only the names in use must be distinct.
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
