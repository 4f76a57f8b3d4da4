import JSONText
import Jobs
import ObjectModel
import RecordInput

/// The arguments of an `import`: which file goes into which entity, and which column into which attribute.
struct ImportArguments {
  enum Columns {
    /// The header names attributes.
    case header
    /// Attributes by the header's names; other columns are left out.
    case named([(column: String, attribute: String)])
    /// No header: the attributes in the order of the columns; nil leaves a column out.
    case positions([String?])
  }

  let input: InputArguments
  let entity: Entity
  let columns: Columns

  init(_ arguments: JSONValue, model: ManagedObjectModel) throws(JobFileError) {
    let reader = try ArgumentReader(arguments)
    try reader.allow(InputArguments.keys + ["entity", "columns"])
    input = try InputArguments(reader)
    let name = try reader.requiredText("entity")
    entity = try Self.entity(name, model, reader)
    columns = try Self.columns(reader, entity)
  }

  /// What is stated about the input, by its own arguments and by the columns.
  func inputOptions(recordLimit: Int) -> InputOptions {
    var options = input.options
    options.maxRecordSize = recordLimit
    switch columns {
    case .header:
      options.hasHeader = options.hasHeader ?? true
      options.columns = entity.properties.map(\.name).filter { ImportColumn.problem($0, entity) == nil }
    case .named(let pairs):
      options.hasHeader = options.hasHeader ?? true
      options.columns = pairs.map(\.column)
    case .positions: options.hasHeader = options.hasHeader ?? false
    }
    return options
  }

  private static func entity(
    _ name: String, _ model: ManagedObjectModel, _ reader: ArgumentReader
  ) throws(JobFileError) -> Entity {
    let importable = model.entities.filter { !$0.isAbstract && !BuiltInModel.entityNames.contains($0.name) }
    guard let entity = importable.first(where: { $0.name == name }) else {
      let known =
        importable.isEmpty
        ? "no model in models/ defines any" : "there are " + importable.map(\.name).sorted().joined(separator: ", ")
      throw reader.error("there is no entity \"\(name)\" to import into; \(known)", "entity")
    }
    guard entity.root.withDescendants.allSatisfy({ $0.entityDescription.uniquenessConstraints.isEmpty }) else {
      throw reader.error(
        "the entity \"\(name)\" has a uniqueness constraint, which imports of this version can't resolve", "entity")
    }
    return entity
  }

  private static func columns(_ reader: ArgumentReader, _ entity: Entity) throws(JobFileError) -> Columns {
    guard let value = reader.value("columns") else { return .header }
    if let object = value.object {
      var pairs: [(String, String)] = []
      for (column, attribute) in object {
        guard let attribute = attribute.string else {
          throw reader.error("must name an attribute, not be \(attribute.kindName)", "columns.\(column)")
        }
        try check(attribute, entity, reader, "columns.\(column)")
        pairs.append((column, attribute))
      }
      try checkDistinct(pairs.map(\.1), reader)
      return .named(pairs)
    }
    guard let list = value.array else {
      throw reader.error("must be an object or a list of attributes, not \(value.kindName)", "columns")
    }
    var names: [String?] = []
    for (index, item) in list.enumerated() {
      if item.isNull {
        names.append(nil)
        continue
      }
      guard let name = item.string else {
        throw reader.error("must name an attribute or be null, not \(item.kindName)", "columns.\(index)")
      }
      try check(name, entity, reader, "columns.\(index)")
      names.append(name)
    }
    try checkDistinct(names.compactMap(\.self), reader)
    return .positions(names)
  }

  private static func check(
    _ name: String, _ entity: Entity, _ reader: ArgumentReader, _ key: String
  ) throws(JobFileError) {
    if let problem = ImportColumn.problem(name, entity) { throw reader.error(problem, key) }
  }

  private static func checkDistinct(_ names: [String], _ reader: ArgumentReader) throws(JobFileError) {
    if names.isEmpty { throw reader.error("names no attribute", "columns") }
    var seen: Set<String> = []
    for name in names where !seen.insert(name).inserted {
      throw reader.error("names the attribute \"\(name)\" twice", "columns")
    }
  }
}
