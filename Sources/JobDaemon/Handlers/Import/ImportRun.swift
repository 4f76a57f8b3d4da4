import Configuration
import JSONText
import Jobs
import ObjectGraph
import ObjectModel
import RecordInput
import SystemSupport

/// One attempt at an import, on the executor of its context.
actor ImportRun {
  nonisolated let unownedExecutor: UnownedSerialExecutor
  private let execution: JobExecution
  private let arguments: ImportArguments
  private let coordinator: PersistentStoreCoordinator
  private let settings: Configuration.Import
  private let path: String

  init(
    _ execution: JobExecution, _ arguments: ImportArguments, _ coordinator: PersistentStoreCoordinator,
    _ settings: Configuration.Import
  ) {
    unownedExecutor = execution.context.executor.asUnownedSerialExecutor()
    self.execution = execution
    self.arguments = arguments
    self.coordinator = coordinator
    self.settings = settings
    path = execution.absolutePath(arguments.input.path)
  }

  func run() async throws -> JSONValue {
    let header = try readHeader()
    var cursor = execution.cursor.flatMap(ImportCursor.init) ?? header.start
    if cursor.isGoingBack {
      // The daemon ended while it took a failed attempt back.
      try await revert()
      cursor = header.start
    }
    guard cursor.inputSize == header.start.inputSize, cursor.inputTime == header.start.inputTime else {
      throw JobFailure("the input \(displayName(path)) is not the file that the import began with")
    }
    try check(header, from: cursor)
    var input = try open(at: cursor.position, header)
    var builder = makeBuilder(header.columns)
    execution.progress = progress(input, "importing: \(cursor.rows) rows")
    while try fill(&builder, &input) {
      let batch = try makeBatch(&builder)
      cursor.advance(to: input.source.position, importing: batch.keys)
      await execution.context.perform { $0.insert(batch) }
      try await execution.checkpoint(cursor.text)
      execution.progress = progress(input, "importing: \(cursor.rows) rows")
    }
    try input.checkUnchanged()
    return .object([
      "rows": .integer(cursor.rows), "bytes": .integer(input.size), "input": input.source.form.json,
    ])
  }

  /// What the first record tells, and where the others begin.
  private struct Header {
    let submitter: UserIdentity
    let columns: [ImportColumn]
    let start: ImportCursor
  }

  private func readHeader() throws -> Header {
    let submitter = try execution.submitterIdentity()
    let input = try ImportInput(path: path, for: submitter, options)
    let names = input.source.columnNames ?? (0..<(input.source.fieldCount ?? 0)).map { "\($0 + 1)" }
    if input.source.form.isDelimited, input.source.form.hasHeader, input.source.columnNames == nil {
      throw JobFailure("the input \(displayName(path)) is empty; it should begin with the names of its columns")
    }
    let columns = try arguments.columns.resolved(names, arguments.entity, input: displayName(path))
    if let missing = missingProperty(columns) {
      throw JobFailure(
        "the input \(displayName(path)): no column gives \"\(arguments.entity.name).\(missing)\", which must have a "
          + "value; map a column to it, or make it optional or give it a default in the model")
    }
    return Header(
      submitter: submitter, columns: columns,
      start: ImportCursor(position: input.source.start, inputSize: input.size, inputTime: input.modificationTime))
  }

  /// A property that must have a value, and would have none.
  private func missingProperty(_ columns: [ImportColumn]) -> String? {
    let mapped = Set(columns.map(\.property.slot))
    return arguments.entity.properties.first { property in
      if let attribute = property.attribute {
        return property.isPersistent && attribute.derivation == nil && !attribute.isOptional
          && attribute.defaultValue.isNull && !mapped.contains(property.slot)
      }
      guard let relationship = property.relationship else { return false }
      return !relationship.isOptional
    }?.name
  }

  private func open(at position: RecordPosition, _ header: Header) throws -> ImportInput {
    var input = try ImportInput(path: path, for: header.submitter, options)
    try input.go(to: position)
    return input
  }

  /// Reads all records that are still to be imported, so that a bad one is found before anything is written.
  private func check(_ header: Header, from cursor: ImportCursor) throws {
    var input = try open(at: cursor.position, header)
    var builder = makeBuilder(header.columns)
    execution.progress = progress(input, "checking every record first")
    while try fill(&builder, &input) {
      builder.removeAll()
      execution.progress.done = input.source.fileOffset
    }
    try input.checkUnchanged()
  }

  /// Each of the two passes goes through the whole input, and has a rate of its own.
  private func progress(_ input: borrowing ImportInput, _ message: String) -> JobProgress {
    JobProgress(done: input.source.fileOffset, total: input.size, unit: "bytes", message: message)
  }

  private var options: InputOptions { arguments.inputOptions(recordLimit: settings.maxRecordSize) }

  /// Fills a chunk; returns false if there was nothing more.
  private func fill(_ builder: inout RowBatchBuilder, _ input: inout ImportInput) throws -> Bool {
    while !builder.isFull, try input.next() {
      do throws(ImportFieldError) { try builder.append(input.source.fields) } catch { throw input.failure(error) }
    }
    try Task.checkCancellation()
    return builder.count > 0
  }

  /// The rows of a chunk under keys of their own; the builder is empty then.
  private func makeBatch(_ builder: inout RowBatchBuilder) throws -> RowBatch {
    let keys = try coordinator.drawKeys(for: arguments.entity, count: builder.count)
    defer { builder.removeAll() }
    return builder.batch(firstKey: keys.lowerBound, coordinatorOrdinal: coordinator.ordinal)
  }

  /// Deletes the rows that earlier chunks have saved, chunk by chunk, with the cursor going back.
  func revert() async throws {
    guard var cursor = execution.cursor.flatMap(ImportCursor.init) else { return }
    let entity = arguments.entity
    let ordinal = coordinator.ordinal
    while let keys = cursor.takeBack(settings.chunkRows) {
      try await execution.context.perform { context in
        for key in keys {
          let id = ManagedObjectID(key: key, entity: entity, coordinatorOrdinal: ordinal)
          context.delete(try context.existingObject(with: id))
        }
      }
      try await execution.checkpoint(cursor.text)
    }
  }

  private func makeBuilder(_ columns: [ImportColumn]) -> RowBatchBuilder {
    RowBatchBuilder(
      entity: arguments.entity, layout: coordinator.layouts[arguments.entity.index], columns: columns,
      capacity: settings.chunkRows)
  }
}

extension ImportArguments.Columns {
  /// Whether the input has no header.
  var arePositions: Bool { if case .positions = self { true } else { false } }

  /// The columns to import, given the fields of the first record.
  func resolved(_ names: [String], _ entity: Entity, input: String) throws(JobFailure) -> [ImportColumn] {
    switch self {
    case .header: return try byName(names.map { ($0, $0) }, names, entity, input)
    case .named(let pairs): return try byName(pairs.map { ($0.column, $0.attribute) }, names, entity, input)
    case .positions(let attributes):
      if !names.isEmpty && names.count != attributes.count {
        throw JobFailure(
          "\(input): line 1: the record has \(names.count) fields, but \"columns\" lists \(attributes.count)")
      }
      return attributes.enumerated().compactMap { position, name in
        name.flatMap { Self.column(position, $0, entity) }
      }
    }
  }

  private func byName(
    _ wanted: [(column: String, attribute: String)], _ names: [String], _ entity: Entity, _ input: String
  ) throws(JobFailure) -> [ImportColumn] {
    if let twice = Dictionary(grouping: names, by: \.self).first(where: { $0.value.count > 1 })?.key {
      throw JobFailure("\(input): line 1: the header names the column \"\(twice)\" twice")
    }
    var columns: [ImportColumn] = []
    for (column, attribute) in wanted {
      guard let position = names.firstIndex(of: column) else {
        let known = names.map { "\"\($0)\"" }.joined(separator: ", ")
        throw JobFailure("\(input): line 1: the header has no column \"\(column)\"; it has \(known)")
      }
      if let problem = ImportColumn.problem(attribute, entity) {
        throw JobFailure("\(input): line 1: column \(position + 1): \(problem)")
      }
      if let resolved = Self.column(position, attribute, entity) { columns.append(resolved) }
    }
    return columns
  }

  private static func column(_ position: Int, _ name: String, _ entity: Entity) -> ImportColumn? {
    guard let property = entity.property(named: name), let attribute = property.attribute else { return nil }
    return ImportColumn(position: position, property: property, attribute: attribute)
  }
}
