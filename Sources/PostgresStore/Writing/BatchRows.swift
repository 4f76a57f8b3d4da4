import ObjectModel
import StoreInterface

/// The rows of a batch as statements take them.
struct BatchRows {
  private let batch: RowBatch
  private let writer: EntityWriter
  private let model: ManagedObjectModel
  /// The stored columns, with the fields that they go into.
  let columns: [(column: RowBatch.Column, field: StoredField)]

  init(_ batch: RowBatch, _ plan: WritingPlan) {
    self.batch = batch
    writer = plan.writer(UInt16(truncatingIfNeeded: batch.entity.index))
    model = plan.model
    columns = batch.columns.compactMap { [writer] column in
      writer.fields(of: [column.slot]).first.map { (column, $0) }
    }
  }

  /// Inserts some rows under keys that follow each other.
  func copy(_ rows: some Collection<Int>, firstKey: Int64, _ connection: Connection) throws(StoreError) {
    let count = 2 + (writer.tellsEntity ? 1 : 0) + columns.reduce(0) { $0 + $1.field.columns.count }
    _ = try connection.copy(writer.copySQL(columns.map(\.field))) { (sink) throws(StoreError) in
      var key = firstKey
      for row in rows {
        try sink.beginRow(count)
        sink.integer(key)
        sink.integer(1)
        if writer.tellsEntity { sink.text(writer.entity.name) }
        for (column, field) in columns { try write(column, as: field, row: row, to: &sink) }
        key += 1
      }
    }
  }

  /// Writes the value of a row in a column.
  @inline(__always)
  func write(
    _ column: borrowing RowBatch.Column, as field: borrowing StoredField, row: Int, to sink: inout some ValueSink
  ) throws(StoreError) {
    if column.isNull(row) { return field.writeNull(to: &sink) }
    switch column.values {
    case .integers(let values): sink.integer(values[row])
    case .reals(let values): StoredField.write(values[row], to: &sink)
    case .bytes(let offsets, let arena):
      let bytes = arena.bytes(Int(offsets[row])..<Int(offsets[row + 1]))
      switch field.property.storage {
      case .reference: field.write(bytes.loadUnaligned(as: ManagedObjectID.self), to: &sink, model)
      case .text:
        try field.check(bytes)
        sink.bytes(bytes)
      default:
        sink.bytes(bytes)
        if field.fileColumn != nil { sink.null() }
      }
    }
  }

  /// Writes the value of a row in a column, by its place.
  func write(_ place: Int, _ row: Int, to sink: inout some ValueSink) throws(StoreError) {
    try write(columns[place].column, as: columns[place].field, row: row, to: &sink)
  }

  /// Writes the value of a row in a column that is compared: of a reference, the key alone.
  func writeKey(_ place: Int, _ row: Int, to sink: inout some ValueSink) throws(StoreError) {
    let (column, field) = columns[place]
    guard case .bytes(let offsets, let arena) = column.values else {
      return try write(column, as: field, row: row, to: &sink)
    }
    let bytes = arena.bytes(Int(offsets[row])..<Int(offsets[row + 1]))
    if field.property.storage == .reference {
      sink.integer(bytes.loadUnaligned(as: ManagedObjectID.self).key)
    } else {
      sink.bytes(bytes)
    }
  }

  /// The values of a row in some columns, such that equal ones are equal; nil if one of them is null.
  func tuple(_ places: [Int], _ row: Int) -> [UInt8]? {
    var tuple = TupleSink()
    for place in places {
      let (column, field) = columns[place]
      if column.isNull(row) { return nil }
      switch column.values {
      case .integers(let values): tuple.integer(values[row])
      case .reals(let values):
        if values[row].isNaN { return nil }
        tuple.real(values[row])
      case .bytes(let offsets, let arena):
        let bytes = arena.bytes(Int(offsets[row])..<Int(offsets[row + 1]))
        if field.property.storage == .reference {
          tuple.integer(bytes.loadUnaligned(as: ManagedObjectID.self).key)
        } else {
          tuple.bytes(bytes)
        }
      }
    }
    return tuple.content
  }
}

/// Values one after the other, each with its length, to compare several at once.
struct TupleSink {
  private(set) var content: [UInt8] = []

  mutating func integer(_ number: Int64) { withUnsafeBytes(of: number) { bytes($0) } }

  /// Numbers that are equal have the same bytes, but for the two zeros.
  mutating func real(_ number: Double) { withUnsafeBytes(of: number == 0 ? 0.0 : number) { bytes($0) } }

  mutating func bytes(_ bytes: UnsafeRawBufferPointer) {
    withUnsafeBytes(of: UInt32(bytes.count)) { content.append(contentsOf: $0) }
    content.append(contentsOf: bytes)
  }
}
