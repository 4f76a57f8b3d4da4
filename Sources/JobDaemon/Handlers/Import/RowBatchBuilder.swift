import ObjectGraph
import ObjectModel
import RecordInput

/// Builds the columns of a batch from the fields of records, checking each value's type and rules.
///
/// On the hot path nothing is allocated: numbers go into arrays, texts into one arena per column.
struct RowBatchBuilder {
  private let entity: Entity
  private let layout: RowLayout
  private let capacity: Int
  private var columns: [ColumnBuilder]
  private let constants: [(Property, AttributeDescription)]
  private(set) var count = 0

  init(entity: Entity, layout: RowLayout, columns: [ImportColumn], capacity: Int) {
    self.entity = entity
    self.layout = layout
    self.capacity = capacity
    self.columns = columns.map { ColumnBuilder($0, capacity: capacity) }
    let mapped = Set(columns.map(\.property.slot))
    constants = entity.properties.compactMap { property in
      guard let attribute = property.attribute, !mapped.contains(property.slot), property.isPersistent,
        !attribute.defaultValue.isNull
      else { return nil }
      return (property, attribute)
    }
  }

  var isFull: Bool { count == capacity }

  /// Adds a record.
  ///
  /// - Throws: ``ImportFieldError`` for the first field that does not fit; the import ends then, and the builder with it.
  mutating func append(_ fields: RecordFields) throws(ImportFieldError) {
    for index in columns.indices {
      let position = columns[index].column.position
      try columns[index].append(fields[position], isQuoted: fields.kind(position) == .quotedText)
    }
    count += 1
  }

  /// The batch of what was appended, under keys that follow each other.
  func batch(firstKey: Int64, coordinatorOrdinal: UInt32) -> RowBatch {
    var built = columns.map { $0.built(count: count) }
    for (property, attribute) in constants {
      if let column = ColumnBuilder.constant(attribute, property, count: count) { built.append(column) }
    }
    built.sort { $0.slot < $1.slot }
    return RowBatch(
      entity: entity, layout: layout, coordinatorOrdinal: coordinatorOrdinal, firstKey: firstKey, count: count,
      columns: built)
  }

  /// Begins the next batch.
  mutating func removeAll() {
    for index in columns.indices { columns[index].removeAll() }
    count = 0
  }
}

/// A field whose value is not what its attribute needs.
struct ImportFieldError: Error {
  let column: Int
  let attribute: String
  let message: String
}
