import Configuration
import JSONText
import Jobs
import ObjectModel
import RecordInput

/// The arguments of an `import`: which file goes into which entity, which column into which property, and what becomes
/// of objects that are there and of records that are bad.
struct ImportArguments: Sendable {
  let input: InputArguments
  let entity: Entity
  let columns: ColumnMapping
  /// Values that every object gets.
  let constants: [ImportColumn]
  let mode: ImportMode
  /// The properties by which a record is the same as an object.
  let key: [Property]
  /// Whether everything is one transaction.
  let isAtomic: Bool
  let rejectLimit: RejectLimit
  let rejectPolicy: RejectPolicy
  /// How many objects may be deleted; nil if nothing was said.
  let deleteLimit: RejectLimit?
  /// Whether nothing is written.
  let isTrial: Bool

  init(_ arguments: JSONValue, model: ManagedObjectModel) throws(JobFileError) {
    let reader = try ArgumentReader(arguments)
    try reader.allow(
      InputArguments.keys + [
        "entity", "columns", "values", "rules", "mode", "key", "atomic", "maxRejects", "onTooManyRejects",
        "maxDeletes", "dryRun",
      ])
    input = try InputArguments(reader)
    let entity = try Self.entity(try reader.requiredText("entity"), model, reader)
    self.entity = entity
    let common = try reader.value("rules").map { (value) throws(JobFileError) in
      let rules = try ArgumentReader(value, path: "arguments.rules")
      try rules.allow(ValueRules.keys)
      return try ValueRules(rules)
    }
    columns = try ColumnMapping(reader, entity, common ?? ValueRules())
    constants = try Self.constants(reader, entity)
    mode = try reader.word("mode", ImportMode.self) ?? .insert
    try columns.checkOwnObjects(entity, mode, reader)
    key = try ImportKey(reader, entity, mode).properties
    let isAtomic = try reader.flag("atomic")
    if isAtomic == false, mode.isAtomic {
      throw reader.error("can't be false for the mode \"\(mode.rawValue)\", which is done as a whole or not", "atomic")
    }
    self.isAtomic = isAtomic ?? mode.isAtomic
    rejectLimit =
      try reader.value("maxRejects").map { (value) throws(JobFileError) in
        try RejectLimit(value, reader, "maxRejects")
      } ?? .none
    rejectPolicy = try reader.word("onTooManyRejects", RejectPolicy.self) ?? .rollBack
    if self.isAtomic && rejectPolicy == .hold {
      let cause = mode.isAtomic ? "the mode \"\(mode.rawValue)\"" : "\"atomic\""
      throw reader.error(
        "can't be \"hold\" with \(cause), which imports all or nothing: there is no half to go on from",
        "onTooManyRejects")
    }
    let mode = mode
    deleteLimit = try reader.value("maxDeletes").map { (value) throws(JobFileError) in
      guard mode.deletes else {
        throw reader.error("has no meaning for the mode \"\(mode.rawValue)\", which deletes nothing", "maxDeletes")
      }
      return try RejectLimit(value, reader, "maxDeletes")
    }
    isTrial = try reader.flag("dryRun") ?? false
  }

  /// What is stated about the input, by its own arguments and by the columns.
  func inputOptions(_ settings: Configuration.Import) -> InputOptions {
    var options = input.options
    options.maxRecordSize = settings.maxRecordSize
    if settings.maxUnpackedSize > 0 { options.maxUnpackedSize = settings.maxUnpackedSize }
    switch columns {
    case .header:
      options.hasHeader = options.hasHeader ?? true
      options.refusesUnnamedValues = true
      options.columns = entity.properties.map(\.name).filter { ImportColumn.problem($0, entity) == nil }
    case .named(let columns):
      options.hasHeader = options.hasHeader ?? true
      options.columns = columns.map(\.label)
    case .positions(let columns):
      options.hasHeader = options.hasHeader ?? false
      options.fieldCount = columns.count
    }
    return options
  }

  private static func entity(
    _ name: String, _ model: ManagedObjectModel, _ reader: ArgumentReader
  ) throws(JobFileError) -> Entity {
    let importable = model.entities.filter { !$0.isAbstract && !BuiltInModel.entityNames.contains($0.name) }
    if let entity = importable.first(where: { $0.name == name }) { return entity }
    let known =
      importable.isEmpty
      ? "no model that was in models/ when the daemon started defines any"
      : "there are " + importable.map(\.name).sorted().joined(separator: ", ")
    throw reader.error("there is no entity \"\(name)\" to import into; \(known)", "entity")
  }

  private static func constants(_ reader: ArgumentReader, _ entity: Entity) throws(JobFileError) -> [ImportColumn] {
    guard let value = reader.value("values") else { return [] }
    guard let object = value.object else {
      throw reader.error("must be an object of attributes and their values, not \(value.kindName)", "values")
    }
    var columns: [ImportColumn] = []
    for (name, value) in object {
      guard let text = ValueRules.text(of: value) else {
        throw reader.error("must be a string, a number, true or false, not \(value.kindName)", "values.\(name)")
      }
      if let problem = ImportColumn.problem(name, entity) { throw reader.error(problem, "values.\(name)") }
      guard let property = entity.property(named: name), let attribute = property.attribute else { continue }
      if let problem = ColumnBuilder.problem(with: text, property, attribute) {
        throw reader.error(problem, "values.\(name)")
      }
      columns.append(
        ImportColumn(
          label: name, property: property, target: .attribute(attribute), rules: ValueRules(), constant: text))
    }
    return columns
  }
}
