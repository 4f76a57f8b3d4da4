import JSONText
import RecordInput

/// The position from which an import continues after an interruption; stored with the rows, in one transaction, as JSON
/// with a version.
struct ImportCursor: Equatable, Sendable {
  enum Phase: String, Sendable {
    case importing
    /// Held because of too many rejected records; continues without a limit.
    case held
    /// Rows are being reverted: the rest of them must go, too, before anything is imported.
    case reverting = "goingBack"
    /// Everything is written; the job's outcome follows.
    case done
  }

  var phase = Phase.importing
  /// After the last imported record.
  var position: RecordPosition
  var counts = ImportCounts()
  /// The number of records, once all were checked.
  var total: Int64?
  /// The size of the input, by which a replaced file is noticed.
  var inputSize: Int64
  /// In nanoseconds since 1970.
  var inputTime: Int64
  /// The primary keys of new objects, so that they can be reverted; adjacent runs are joined.
  private(set) var keys: [Range<Int64>] = []

  init(position: RecordPosition, inputSize: Int64, inputTime: Int64) {
    self.position = position
    self.inputSize = inputSize
    self.inputTime = inputTime
  }

  mutating func note(_ new: Range<Int64>) {
    if new.isEmpty { return }
    if let last = keys.last, last.upperBound == new.lowerBound {
      keys[keys.count - 1] = last.lowerBound..<new.upperBound
    } else {
      keys.append(new)
    }
  }

  /// The number of new objects to revert.
  var newObjects: Int { keys.reduce(0) { $0 + $1.count } }

  /// Removes at most `limit` of the last new objects, and returns their keys; none if there are none left.
  mutating func popNewObjects(atMost limit: Int) -> [Int64] {
    var taken: [Int64] = []
    while taken.count < limit, let last = keys.popLast() {
      phase = .reverting
      let some = max(last.lowerBound, last.upperBound - Int64(limit - taken.count))..<last.upperBound
      if some.lowerBound > last.lowerBound { keys.append(last.lowerBound..<some.lowerBound) }
      taken += some
    }
    return taken
  }

  /// Reads a stored cursor. Version 1 was stored with the job, by releases that could only insert.
  init?(_ text: String) {
    guard let value = try? JSONValue(parsing: Array(text.utf8), dialect: .json),
      let version = value["version"]?.integer, version == 1 || version == 2,
      let offset = value["offset"]?.integer, let line = value["line"]?.integer,
      let size = value["inputSize"]?.integer, let time = value["inputTime"]?.integer,
      let blocks = value["keys"]?.array
    else { return nil }
    position = RecordPosition(byteOffset: Int(offset), line: Int(line))
    inputSize = size
    inputTime = time
    if version == 1 {
      counts.inserted = value["rows"]?.integer ?? 0
      if value["goesBack"]?.bool == true { phase = .reverting }
    } else {
      guard let name = value["phase"]?.string, let phase = Phase(rawValue: name) else { return nil }
      self.phase = phase
      counts = ImportCounts(value)
      total = value["total"]?.integer
    }
    keys = blocks.compactMap { block in
      guard let first = block.array?.first?.integer, let end = block.array?.last?.integer, first < end else {
        return nil
      }
      return first..<end
    }
  }

  var text: String {
    var object = counts.json
    object["version"] = 2
    object["phase"] = .string(phase.rawValue)
    object["offset"] = .integer(Int64(position.byteOffset))
    object["line"] = .integer(Int64(position.line))
    if let total { object["total"] = .integer(total) }
    object["inputSize"] = .integer(inputSize)
    object["inputTime"] = .integer(inputTime)
    object["keys"] = .array(keys.map { .array([.integer($0.lowerBound), .integer($0.upperBound)]) })
    return JSONValue.object(object).serialized()
  }
}

/// The outcomes of an import's records.
struct ImportCounts: Equatable, Sendable {
  var inserted: Int64 = 0
  var updated: Int64 = 0
  var unchanged: Int64 = 0
  var skipped: Int64 = 0
  /// Objects that no record has the key of.
  var deleted: Int64 = 0
  var rejects: Int64 = 0

  /// Records that are in the store now.
  var rows: Int64 { inserted + updated + unchanged }
  var records: Int64 { rows + skipped + rejects }

  private static let fields: [(String, any WritableKeyPath<ImportCounts, Int64> & Sendable)] = [
    ("inserted", \.inserted), ("updated", \.updated), ("unchanged", \.unchanged), ("skipped", \.skipped),
    ("deleted", \.deleted), ("rejects", \.rejects),
  ]

  init() {}

  init(_ value: JSONValue) { for (name, field) in Self.fields { self[keyPath: field] = value[name]?.integer ?? 0 } }

  var json: JSONObject {
    var object = JSONObject()
    for (name, field) in Self.fields { object[name] = .integer(self[keyPath: field]) }
    return object
  }
}
