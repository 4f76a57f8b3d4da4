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
  private var origins: RecordOrigins?
  private var rejects: [RejectedRecord] = []
  private(set) var count = 0

  init(_ plan: ImportPlan, capacity: Int) {
    self.plan = plan
    self.capacity = capacity
    columns = plan.columns.map { column in
      ColumnBuilder(column, isKey: plan.key.contains { $0 === column.property }, capacity: capacity)
    }
    if plan.mayReject { origins = RecordOrigins() }
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
  ) throws(JobFailure) -> Bool {
    let source = input.source
    reading: while !isFull {
      switch try input.next() {
      case .record:
        look?(source.fields)
        append(source)
        size += source.rawRecord.count
      case .bad(let error):
        rejects.append(RejectedRecord(error, in: source))
        size += source.rawRecord.count
      case .end: break reading
      }
    }
    return count + rejects.count > 0
  }

  /// The bad records so far.
  mutating func takeRejects() -> [RejectedRecord] {
    defer { rejects = [] }
    return rejects
  }

  /// Adds the present record of a source, or notes why it can't be imported.
  private mutating func append(_ source: RecordSource) {
    let fields = source.fields
    for index in columns.indices {
      let position = columns[index].column.position ?? 0
      do throws(ImportFieldError) {
        try columns[index].append(fields[position], fields.kind(position))
      } catch {
        for earlier in 0..<index { columns[earlier].removeLast() }
        rejects.append(RejectedRecord(error, in: source))
        return
      }
    }
    if origins != nil {
      origins?.append(line: source.recordLine, byteOffset: source.recordOffset, raw: source.rawRecord)
    }
    count += 1
  }

  /// What was added, up to a place of the input; the builder is empty then.
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

  /// Forgets what was added.
  mutating func removeAll() {
    for index in columns.indices { columns[index].removeAll() }
    rejects = []
    count = 0
    size = 0
    if origins != nil { origins = RecordOrigins() }
  }
}
