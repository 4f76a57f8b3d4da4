import Jobs
import ObjectGraph
import ObjectModel
import RecordInput

/// Builds chunks from the fields of records, checking each value's type and rules.
///
/// On the hot path nothing is allocated: numbers go into arrays, texts into one arena per column.
struct ChunkBuilder {
  private let plan: ImportPlan
  private let capacity: Int
  private var columns: [ColumnBuilder]
  /// The positions of the columns in a record.
  private let positions: [Int]
  private var origins: RecordOrigins?
  private var rejects: [RejectedRecord] = []
  private(set) var count = 0

  /// - Parameter keepsValues: false if records are only to be checked.
  init(_ plan: ImportPlan, capacity: Int, keepsValues: Bool = true) {
    self.plan = plan
    self.capacity = capacity
    columns = plan.columns.map { column in
      ColumnBuilder(
        column, isKey: plan.key.contains { $0 === column.property }, keepsValues: keepsValues,
        tellsAbsence: plan.hasKeys, capacity: capacity)
    }
    positions = plan.columns.map { $0.position ?? 0 }
    if plan.mayReject && keepsValues { origins = RecordOrigins(capacity: capacity, textCapacity: 0) }
  }

  /// Bytes of the records so far.
  private var size = 0
  /// Few huge records make a chunk, too.
  private static let sizeLimit = 16 << 20

  var isFull: Bool { count + rejects.count >= capacity || size >= Self.sizeLimit }

  /// Reads records until the chunk is full; returns false if there was none.
  ///
  /// - Parameter look: is shown each record that can be read.
  mutating func fill(
    _ input: borrowing ImportInput, _ look: ((RecordFields) -> Void)? = nil
  ) throws -> Bool {
    let source = input.source
    reading: while !isFull {
      switch try input.next() {
      case .record:
        look?(source.record.fields)
        append(source)
      case .bad(let error):
        rejects.append(RejectedRecord(error, in: source))
        size += source.record.raw.count
      case .end: break reading
      }
    }
    return count + rejects.count > 0
  }

  /// Drains the rejected records so far.
  mutating func drainRejects() -> [RejectedRecord] {
    defer { rejects = [] }
    return rejects
  }

  /// Adds the present record of a source, or notes why it can't be imported.
  private mutating func append(_ source: RecordSource) {
    let record = source.record
    size += record.raw.count
    do throws(ImportFieldError) {
      try append(record.fields)
    } catch {
      rejects.append(RejectedRecord(error, in: source))
      return
    }
    origins?.append(record)
    count += 1
  }

  /// Adds a record's fields to all columns or to none.
  private mutating func append(_ fields: RecordFields) throws(ImportFieldError) {
    let positions = positions
    if plan.hasKeys, !positions.isEmpty, positions.allSatisfy({ fields.kind($0) == .absent }) {
      throw ImportFieldError(
        position: nil, label: nil, rule: "columns", message: "none of its keys is a column of the import")
    }
    // In place, without a uniqueness check of the array each time.
    try columns.withUnsafeMutableBufferPointer { (columns) throws(ImportFieldError) in
      for index in columns.indices {
        do throws(ImportFieldError) {
          try columns[index].append(fields[positions[index]], fields.kind(positions[index]))
        } catch {
          for earlier in 0..<index { columns[earlier].removeLast() }
          throw error
        }
      }
    }
  }

  /// Returns the added records as a chunk, up to a place of the input, and empties the builder.
  mutating func finish(at end: RecordPosition) -> ImportChunk {
    var chunk = ImportChunk(columns: [], lookups: [], count: count, origins: origins, rejects: rejects, end: end)
    for builder in columns {
      let values = builder.built(count: count)
      if case .relationship = builder.column.target {
        chunk.lookups.append((builder.column, values))
      } else {
        chunk.columns.append(values)
      }
    }
    for column in plan.constants {
      if let values = ColumnBuilder.repeated(column, count: count) { chunk.columns.append(values) }
    }
    for (property, attribute) in plan.defaults {
      if let column = ColumnBuilder.constant(attribute, property, count: count) {
        chunk.columns.append(column.asDefaults(count: count))
      }
    }
    chunk.columns.sort { $0.slot < $1.slot }
    removeAll()
    return chunk
  }

  /// Drops the added records.
  mutating func removeAll() {
    for index in columns.indices { columns[index].removeAll() }
    rejects = []
    count = 0
    size = 0
    if let last = origins {
      // The next chunk will be about as large.
      origins = RecordOrigins(capacity: capacity, textCapacity: last.textSize + last.textSize / 16)
    }
  }
}
