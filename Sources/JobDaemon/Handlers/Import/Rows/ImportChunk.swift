import ObjectGraph
import RecordInput

/// Records that were read and are to be written together.
struct ImportChunk: Sendable {
  /// The values of properties, and for each relationship the values to find objects by.
  var columns: [RowBatch.Column]
  var lookups: [(column: ImportColumn, values: RowBatch.Column)]
  var count: Int
  /// Where the records came from, if the store may reject one of them.
  var origins: RecordOrigins?
  /// Records that are no rows.
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
