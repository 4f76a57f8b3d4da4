import JSONText
import ObjectGraph
import ObjectModel
import RecordInput

/// What a dry run finds out.
struct ImportTrial {
  private let plan: ImportPlan
  private let coordinator: PersistentStoreCoordinator
  private var columns: [ColumnSurvey]
  /// Whether the input is JSON.
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
