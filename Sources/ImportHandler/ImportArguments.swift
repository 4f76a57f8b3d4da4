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
  /// True if everything is one transaction.
  let isAtomic: Bool
  let rejectLimit: RejectLimit
  let rejectPolicy: RejectPolicy
  /// The most objects that may be deleted; nil if not stated.
  let deleteLimit: RejectLimit?
  /// True if nothing is written.
  let isTrial: Bool

  init(_ arguments: JSONValue, model: ManagedObjectModel) throws(JobFileError) {
    let reader = try ArgumentReader(arguments)
    try reader.allow(
      InputArguments.keys + [
        "entity", "columns", "values", "rules", "mode", "key", "atomic", "maxRejects", "onTooManyRejects",
        "maxDeletes", "dryRun",
      ])
    input = try InputArguments(reader)
    let entity = try Self.entity(try reader.requiredText("entity"), in: model, reader: reader)
    self.entity = entity
    let common = try reader.value("rules").map { (value) throws(JobFileError) in
      let rules = try ArgumentReader(value, path: "arguments.rules")
      try rules.allow(ValueRules.keys)
      return try ValueRules(rules)
    }
    columns = try ColumnMapping(reader, entity, common: common ?? ValueRules())
    constants = try Self.constants(reader, entity)
    mode = try reader.word("mode", ImportMode.self) ?? .insert
    try columns.checkOwnObjects(entity, mode, reader: reader)
    key = try ImportKey(reader, entity, mode: mode).properties
    let isAtomic = try reader.flag("atomic")
    if isAtomic == false, mode.isAtomic {
      throw reader.error("can't be false for the mode \"\(mode.rawValue)\", which is done as a whole or not", "atomic")
    }
    self.isAtomic = isAtomic ?? mode.isAtomic
    rejectLimit =
      try reader.value("maxRejects").map { (value) throws(JobFileError) in
        try RejectLimit(value, reader, key: "maxRejects")
      } ?? .none
    rejectPolicy = try reader.word("onTooManyRejects", RejectPolicy.self) ?? .rollBack
    if self.isAtomic && rejectPolicy == .hold {
      let cause = mode.isAtomic ? "the mode \"\(mode.rawValue)\"" : "\"atomic\""
      throw reader.error(
        "can't be \"hold\" with \(cause), which imports all or nothing: there is no half to continue from",
        "onTooManyRejects")
    }
    let mode = mode
    deleteLimit = try reader.value("maxDeletes").map { (value) throws(JobFileError) in
      guard mode.deletes else {
        throw reader.error("has no meaning for the mode \"\(mode.rawValue)\", which deletes nothing", "maxDeletes")
      }
      return try RejectLimit(value, reader, key: "maxDeletes")
    }
    isTrial = try reader.flag("dryRun") ?? false
  }

  /// Returns the stated options of the input, by its own arguments and by the columns.
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
    _ name: String, in model: ManagedObjectModel, reader: ArgumentReader
  ) throws(JobFileError) -> Entity {
    let importable = BuiltInModel.importable(of: model)
    if let entity = importable.first(where: { $0.name == name }) { return entity }
    let known =
      importable.isEmpty
      ? "no model in models/ that the daemon has taken defines any"
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

/// The arguments that tell where the input of an import is and how it is written; what is left out is found out.
struct InputArguments {
  static let keys = [
    "input", "format", "compression", "encoding", "separator", "quote", "comment", "skipLines", "header",
    "strayQuotes", "raggedRows", "records",
  ]

  let path: String
  let options: InputOptions

  init(_ reader: ArgumentReader) throws(JobFileError) {
    path = try reader.requiredPath("input")
    var options = InputOptions()
    options.format = try reader.word("format", InputFormat.self)
    options.compression = try reader.word("compression", Compression.self)
    if let name = try reader.text("encoding") {
      guard let encoding = TextEncoding(name) else {
        throw reader.error("there is no encoding \"\(name)\"; \"iconv --list\" shows all", "encoding")
      }
      options.encoding = encoding
    }
    options.separator = try Self.character("separator", reader)
    options.comment = try Self.character("comment", reader)
    if let value = reader.value("quote") {
      options.quoting = value.isNull ? InputOptions.Quoting.none : try Self.character("quote", reader).map { .byte($0) }
    }
    options.skipLines = try reader.integer("skipLines", in: 0...1_000_000) ?? 0
    options.hasHeader = try reader.flag("header")
    options.strayQuotes = try reader.word("strayQuotes", StrayQuotes.self) ?? .error
    options.raggedRows = try reader.word("raggedRows", RaggedRows.self) ?? .error
    if let records = try reader.text("records") {
      options.path = records.isEmpty ? [] : records.split(separator: ".").map { String($0) }
    }
    if let problem = options.problem { throw reader.error(problem.message, problem.key) }
    self.options = options
  }

  /// One ASCII character.
  private static func character(_ key: String, _ reader: ArgumentReader) throws(JobFileError) -> UInt8? {
    guard let text = try reader.text(key) else { return nil }
    guard text.utf8.count == 1, let byte = text.utf8.first, byte < 0x80 else {
      throw reader.error("must be one ASCII character, but is \"\(text)\"", key)
    }
    return byte
  }
}

/// The most records that may be rejected.
enum RejectLimit: Sendable, Equatable {
  case count(Int64)
  /// A share of all records, from 0 to 1.
  case share(Double)

  static let none = RejectLimit.count(0)

  init(_ value: JSONValue, _ reader: ArgumentReader, key: String) throws(JobFileError) {
    if let count = value.integer, count >= 0 {
      self = .count(count)
    } else if let text = value.string, text.hasSuffix("%"), let percent = Double(text.dropLast()),
      (0...100).contains(percent)
    {
      self = .share(percent / 100)
    } else {
      throw reader.error("must be a number of records or a share such as \"5%\"", key)
    }
  }

  /// True if the rejects are too many, given the number of all records.
  func isExceeded(by rejects: Int64, of records: Int64) -> Bool {
    switch self {
    case .count(let limit): rejects > limit
    case .share(let share): Double(rejects) > share * Double(records)
    }
  }

  /// The limit as a number, once the number of records is known.
  func resolved(records: Int64) -> RejectLimit {
    if case .share(let share) = self { .count(Int64(share * Double(records))) } else { self }
  }
}

/// The treatment of an import with too many rejected records.
enum RejectPolicy: String, CaseIterable, Sendable {
  /// It fails, and its rows are reverted.
  case rollBack
  /// It is held as it is; once resumed, it continues without a limit.
  case hold
}
