import Jobs
import ObjectGraph
import RecordInput
import SystemSupport
import TextSupport

/// Records that were read and are to be written together.
struct ImportChunk: Sendable {
  /// The values of properties, and for each relationship the values to find objects by.
  var columns: [RowBatch.Column]
  var lookups: [(column: ImportColumn, values: RowBatch.Column)]
  var count: Int
  /// The origins of the records, if the store may reject one of them.
  var origins: RecordOrigins?
  /// Rejected records.
  var rejects: [RejectedRecord]
  /// The place after the last record.
  let end: RecordPosition

  /// Leaves out rows.
  mutating func keep(_ isKept: [Bool]) {
    columns = columns.map { $0.keeping(isKept) }
    lookups = lookups.map { ($0.column, $0.values.keeping(isKept)) }
    origins = origins?.keeping(isKept)
    count = isKept.count { $0 }
  }
}

/// The places and texts of records.
struct RecordOrigins: Sendable {
  private var lines: [Int] = []
  private var byteOffsets: [Int] = []
  private var ends: [Int] = []
  private var texts: [UInt8] = []

  /// - Parameters:
  ///   - capacity: how many records to expect.
  ///   - textCapacity: how many bytes of them.
  init(capacity: Int, textCapacity: Int) {
    lines.reserveCapacity(capacity)
    byteOffsets.reserveCapacity(capacity)
    ends.reserveCapacity(capacity)
    texts.reserveCapacity(textCapacity)
  }

  var textSize: Int { texts.count }

  mutating func append(_ record: PresentRecord) {
    append(line: record.line, byteOffset: record.offset, raw: record.raw)
  }

  private mutating func append(line: Int, byteOffset: Int, raw: UnsafeRawBufferPointer) {
    lines.append(line)
    byteOffsets.append(byteOffset)
    texts.append(contentsOf: raw)
    ends.append(texts.count)
  }

  func keeping(_ isKept: [Bool]) -> RecordOrigins {
    var kept = RecordOrigins(capacity: ends.count, textCapacity: texts.count)
    for row in isKept.indices where isKept[row] {
      text(row).withUnsafeBytes { kept.append(line: lines[row], byteOffset: byteOffsets[row], raw: $0) }
    }
    return kept
  }

  func reject(_ row: Int, column: String?, rule: String, _ message: String) -> RejectedRecord {
    RejectedRecord(
      line: lines[row], byteOffset: byteOffsets[row], column: column, place: column.map { ", column \($0)" } ?? "",
      rule: rule, message: message, raw: String(decoding: text(row), as: UTF8.self))
  }

  private func text(_ row: Int) -> ArraySlice<UInt8> { texts[(row == 0 ? 0 : ends[row - 1])..<ends[row]] }
}

extension RowBatch.Column {
  /// The values of some rows.
  func keeping(_ isKept: [Bool]) -> RowBatch.Column {
    let rows = isKept.indices.filter { isKept[$0] }
    func keeping(_ bits: [UInt64]) -> [UInt64] {
      if bits.isEmpty { return [] }
      var kept = [UInt64](repeating: 0, count: (rows.count + 63) / 64)
      for (place, row) in rows.enumerated() where bits[row >> 6] & (1 << UInt64(row & 63)) != 0 {
        kept[place >> 6] |= 1 << UInt64(place & 63)
      }
      return kept
    }
    let kept: Values
    switch values {
    case .integers(let values): kept = .integers(rows.map { values[$0] })
    case .reals(let values): kept = .reals(rows.map { values[$0] })
    case .bytes(let offsets, let arena):
      let own = ByteArena(capacity: arena.count)
      var places: [UInt32] = [0]
      for row in rows {
        own.append(arena.bytes(Int(offsets[row])..<Int(offsets[row + 1])))
        places.append(UInt32(own.count))
      }
      kept = .bytes(offsets: places, arena: own)
    }
    return RowBatch.Column(
      slot: slot, values: kept, nullBits: keeping(nullBits), givenBits: keeping(givenBits))
  }
}

extension ImportChunk {
  /// Looks for the objects that relationships lead to, without making any.
  ///
  /// - Returns: the rows that are rejected because theirs is not there, and how many rows lack one, by relationship.
  func lookUp(
    _ coordinator: PersistentStoreCoordinator, _ reader: any StoreReader
  ) throws -> (rejects: [Int: RejectedRecord], lacking: [String: Int64]) {
    var rejects: [Int: RejectedRecord] = [:]
    var lacking: [String: Int64] = [:]
    for (column, values) in lookups {
      guard let resolver = RelationshipResolver(column) else { continue }
      let found = try resolver.find(values, count: count, coordinator: coordinator, reader: reader)
      for row in found.indices where found[row] == nil && !values.isNull(row) {
        lacking[column.property.name, default: 0] += 1
        guard resolver.rejects, rejects[row] == nil else { continue }
        rejects[row] = origins?.reject(
          row, column: column.label, rule: RelationshipResolver.rule, resolver.message(values, row))
      }
    }
    return (rejects, lacking)
  }
}

/// A record that can't be imported, and why.
struct RejectedRecord: Sendable {
  let line: Int
  let byteOffset: Int
  /// The name of the column, if it is one column's.
  let column: String?
  /// Its place in the record, for messages: begins with a comma, or is empty.
  let place: String
  /// The rule that was broken, such as `type`; stays the same from release to release.
  let rule: String
  let message: String
  /// The record as it came, but for U+0000, which not every store holds.
  let raw: String

  init(
    line: Int, byteOffset: Int, column: String? = nil, place: String = "", rule: String, message: String, raw: String
  ) {
    self.line = line
    self.byteOffset = byteOffset
    self.column = column
    self.place = place
    self.rule = rule
    (self.message, self.raw) = (message.storable, raw.storable)
  }

  /// A record that can't be read.
  init(_ error: RecordError, in source: RecordSource) {
    let field = error.fieldIndex.map { ", field \($0 + 1)" } ?? ""
    let names = source.columnNames
    self.init(
      line: error.line, byteOffset: source.record.offset,
      column: error.fieldIndex.flatMap { index in names.flatMap { index < $0.count ? $0[index] : nil } },
      place: ", column \(error.column)\(field)", rule: error.rule, message: error.message, raw: source.rawText)
  }

  /// A record whose field is not what its property needs.
  init(_ error: ImportFieldError, in source: RecordSource) {
    self.init(
      line: source.record.line, byteOffset: source.record.offset, column: error.label,
      place: error.position.map { ", column \($0 + 1) (\(error.label ?? ""))" } ?? "", rule: error.rule,
      message: error.message, raw: source.rawText)
  }

  /// Returns the failure of an import because of it.
  ///
  /// - Parameters:
  ///   - more: how many other records are bad.
  ///   - looked: how many records were looked at, if not all were.
  func failure(_ path: String, more: Int64 = 0, among looked: Int64? = nil) -> JobFailure {
    let part = looked.map { " among the first \($0)" } ?? ""
    let others = more > 0 ? " (and \(more) more bad \(more == 1 ? "record" : "records")\(part))" : ""
    return JobFailure("\(displayName(path)): line \(line)\(place): \(message)\(others)")
  }
}

extension RecordSource {
  fileprivate var rawText: String { String(decoding: record.raw, as: UTF8.self) }
}

/// The result of a pass through all records.
struct Survey {
  private(set) var records: Int64
  private(set) var rejects: Int64
  private(set) var first: RejectedRecord?
  /// The first bad records, to be shown.
  private(set) var kept: [RejectedRecord] = []

  /// The bound of the memory.
  static let keptCount = 10_000

  /// - Parameter counts: of the records before.
  init(_ counts: ImportCounts) {
    records = counts.records
    rejects = counts.rejects
  }

  mutating func note(_ good: Int, _ bad: [RejectedRecord]) {
    records += Int64(good + bad.count)
    rejects += Int64(bad.count)
    if first == nil { first = bad.first }
    if kept.count < Self.keptCount { kept += bad.prefix(Self.keptCount - kept.count) }
  }
}
