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
  /// Records whose key, or other unique values, an object has that is there.
  private var taken: Int64 = 0
  /// By the relationship: values that no object has.
  private var lacking: [String: Int64] = [:]
  private(set) var goodCount: Int64 = 0
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
  }

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
    survey.note(chunk.count, chunk.rejects)
    goodCount += Int64(chunk.count)
    let (plan, coordinator) = (plan, coordinator)
    let (taken, lacking) = try coordinator.openStore().read { reader in
      var taken: Int64 = 0
      let slots = Set(chunk.columns.map(\.slot))
      for key in plan.uniqueKeys where key.allSatisfy({ slots.contains($0.slot) }) {
        let batch = coordinator.lookupBatch(chunk.columns, count: chunk.count, of: plan.entity)
        taken += Int64(try reader.find(batch, key: key).count { $0 != nil })
      }
      var lacking: [String: Int64] = [:]
      for (column, values) in chunk.lookups {
        guard case .relationship(let key, _, _) = column.target, let destination = column.property.destination else {
          continue
        }
        let batch = coordinator.lookupBatch([values], count: chunk.count, of: destination)
        let found = try reader.find(batch, key: [key])
        lacking[column.property.name] = Int64(found.indices.count { found[$0] == nil && !values.isNull($0) })
      }
      return (taken, lacking)
    }
    self.taken += taken
    self.lacking.merge(lacking) { $0 + $1 }
  }

  func result(_ limit: RejectLimit) -> JSONObject {
    let targets = Dictionary(
      plan.columns.compactMap { column in column.position.map { ($0, column.property.name) } }
    ) { first, _ in first }
    var object: JSONObject = [
      "dryRun": true, "records": .integer(survey.records), "good": .integer(goodCount),
      "rejects": .integer(survey.rejects), "existing": .integer(taken),
      "isWithinLimit": .bool(!limit.isExceeded(by: survey.rejects, of: survey.records)),
      "columns": .array(columns.enumerated().map { $0.element.json(attribute: targets[$0.offset]) }),
      "sample": .array(sample), "firstRejects": .array(survey.kept.prefix(Self.shownRejects).map(\.json)),
    ]
    if !lacking.isEmpty {
      var missing = JSONObject()
      for (name, count) in lacking.sorted(by: { $0.key < $1.key }) { missing[name] = .integer(count) }
      object["missing"] = .object(missing)
    }
    return object
  }
}

extension ImportPlan {
  /// Where a record can meet an object that is there.
  fileprivate var uniqueKeys: [[Property]] {
    if !key.isEmpty { return [key] }
    return ImportKey.constraints(of: entity).map { $0.compactMap(entity.property(named:)) }
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
