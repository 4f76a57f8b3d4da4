import JSONText
import Jobs
import ObjectGraph
import ObjectModel
import RecordInput

/// The result of a dry run.
struct ImportTrial {
  private let plan: ImportPlan
  private let coordinator: PersistentStoreCoordinator
  private var columns: [ColumnSurvey]
  /// True if the input is JSON.
  private let isTyped: Bool
  private var sample: [JSONValue] = []
  private var survey = Survey(ImportCounts())
  private var fates: TrialFates
  private(set) var chunkCount = 0
  /// Records of the first chunk.
  private(set) var firstCount = 0

  private static let sampleCount = 5
  private static let shownRejects = 20

  init(_ plan: ImportPlan, _ coordinator: PersistentStoreCoordinator, names: [String], isTyped: Bool) {
    self.plan = plan
    self.coordinator = coordinator
    columns = names.map { ColumnSurvey($0, isTyped: isTyped) }
    self.isTyped = isTyped
    fates = TrialFates(plan)
  }

  var checkedCount: Int64 { survey.records }
  var goodCount: Int64 { survey.records - survey.rejects }

  /// Looks at a record as it came.
  mutating func look(at fields: RecordFields) {
    while columns.count < fields.count { columns.append(ColumnSurvey("\(columns.count + 1)", isTyped: isTyped)) }
    for index in 0..<fields.count { columns[index].note(fields[index], fields.kind(index)) }
    if sample.count == Self.sampleCount { return }
    var record = JSONObject()
    for index in 0..<fields.count {
      record[columns[index].name] =
        fields.kind(index).isMissing ? .null : .string(String(decoding: fields[index], as: UTF8.self))
    }
    sample.append(.object(record))
  }

  mutating func note(_ chunk: ImportChunk) throws {
    chunkCount += 1
    if chunkCount == 1 { firstCount = chunk.count }
    let rejects = try fates.add(chunk, coordinator)
    survey.note(
      chunk.count - rejects.count, (chunk.rejects + rejects).sorted { $0.byteOffset < $1.byteOffset })
  }

  func result(_ limit: RejectLimit) throws -> JSONObject {
    let targets = Dictionary(
      plan.columns.compactMap { column in column.position.map { ($0, column.property.name) } }
    ) { first, _ in first }
    let (deleted, before) = try fates.deleted(coordinator, hasRejects: survey.rejects > 0)
    let problem = plan.problem(deleting: deleted, of: before, records: survey.records)
    var object: JSONObject = [
      "dryRun": true, "records": .integer(survey.records), "good": .integer(goodCount),
      "rejects": .integer(survey.rejects), "inserted": .integer(fates.inserted), "updated": .integer(fates.updated),
      "skipped": .integer(fates.skipped),
      "deleted": .integer(deleted),
      "isWithinLimit": .bool(problem == nil && !limit.isExceeded(by: survey.rejects, of: survey.records)),
      "columns": .array(columns.enumerated().map { $0.element.json(attribute: targets[$0.offset]) }),
      "sample": .array(sample), "firstRejects": .array(survey.kept.prefix(Self.shownRejects).map(\.json)),
    ]
    if let problem { object["problem"] = .string(problem) }
    if !fates.lacking.isEmpty {
      var missing = JSONObject()
      for (name, count) in fates.lacking.sorted(by: { $0.key < $1.key }) { missing[name] = .integer(count) }
      object["missing"] = .object(missing)
    }
    return object
  }
}

extension RejectedRecord {
  fileprivate var json: JSONValue {
    .object([
      "line": .integer(Int64(line)), "byteOffset": .integer(Int64(byteOffset)),
      "column": column.map(JSONValue.string) ?? .null, "rule": .string(rule), "message": .string(message),
    ])
  }
}

extension ImportRun {
  /// Everything but the write: what would become of the records, and how long it would take.
  func dryRun(_ head: Head) async throws -> JSONValue {
    try await execution.waitUntilDurable()
    let input = try open(head, at: head.start.position)
    var trial = ImportTrial(
      head.plan, coordinator, names: input.source.columnNames ?? [], isTyped: !head.form.isDelimited)
    var builder = ChunkBuilder(head.plan, capacity: settings.chunkRows)
    show(input, "checking every record, for a dry run")
    let started = ContinuousClock.now
    var writing = Duration.zero
    while try builder.fill(input, { trial.look(at: $0) }) {
      try execution.checkCancellation()
      let chunk = builder.finish(at: input.source.position)
      try trial.note(chunk)
      try settings.checkRows(trial.checkedCount, path)
      if trial.chunkCount == 1 { writing = try await time(chunk, head) }
      execution.progress.done = input.source.fileOffset
    }
    try input.checkUnchanged()
    let checking = ContinuousClock.now - started - writing
    var result = try trial.result(arguments.rejectLimit)
    let perRow = trial.firstCount > 0 ? (writing / .seconds(1)) / Double(trial.firstCount) : 0
    // While one chunk is written the next is read.
    let reading = checking / .seconds(1)
    let seconds = (arguments.isAtomic ? reading : 2 * reading) + perRow * Double(trial.goodCount)
    result["seconds"] = .number((seconds * 1000).rounded() / 1000)
    result["bytes"] = .integer(input.size)
    result["input"] = head.form.json
    return .object(result)
  }

  /// Measures how long it takes to write a chunk, which is rolled back.
  private func time(_ chunk: ImportChunk, _ head: Head) async throws -> Duration {
    let (plan, records, cursor) = (head.plan, records, head.start)
    let start = ContinuousClock.now
    do {
      try await ImportWriter(execution.context).run { transaction in
        var chunks = ChunkWriter(plan, records, from: cursor, isAtomic: true)
        try chunks.write(chunk, &transaction)
        throw RolledBack()
      }
    } catch is RolledBack {}
    return ContinuousClock.now - start
  }

  private struct RolledBack: Error {}
}

/// A survey of the values of one column of the input.
struct ColumnSurvey {
  let name: String
  private let isTyped: Bool
  private var guess = ColumnGuess()
  private let scratch = ByteScratch()
  private var records: Int64 = 0
  private var longest = 0

  /// - Parameter isTyped: whether quotes make a text, as in JSON.
  init(_ name: String, isTyped: Bool) {
    self.name = name
    self.isTyped = isTyped
  }

  mutating func note(_ field: UnsafeRawBufferPointer, _ kind: FieldKind) {
    records += 1
    longest = max(longest, field.count)
    guess.add(field, kind, isTyped: isTyped, using: scratch)
  }

  func json(attribute: String?) -> JSONValue {
    var object: JSONObject = [
      "name": .string(name), "type": .string(guess.type.rawValue), "values": .integer(guess.valueCount),
      "empty": .integer(records - guess.valueCount),
      "longest": .integer(Int64(longest)), "goesTo": attribute.map(JSONValue.string) ?? .null,
    ]
    for (key, value) in guess.spelling.keys { object[key] = .string(value) }
    return .object(object)
  }
}
