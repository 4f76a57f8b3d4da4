import Foundation
import ObjectGraph
import ObjectModel

/// Columns that don't come from the input.
extension ColumnBuilder {
  /// A column of an attribute's default, for what the input does not give; nil if it is binary.
  static func constant(_ attribute: AttributeDescription, _ property: Property, count: Int) -> RowBatch.Column? {
    let text: String
    switch attribute.defaultValue.converted(to: attribute.type) {
    case .integer(let value):
      return RowBatch.Column(slot: property.slot, values: .integers(Array(repeating: value, count: count)))
    case .boolean(let value):
      return RowBatch.Column(slot: property.slot, values: .integers(Array(repeating: value ? 1 : 0, count: count)))
    case .double(let value):
      return RowBatch.Column(slot: property.slot, values: .reals(Array(repeating: value, count: count)))
    case .date(let value):
      let seconds = value.timeIntervalSinceReferenceDate
      return RowBatch.Column(slot: property.slot, values: .reals(Array(repeating: seconds, count: count)))
    case .uuid(let value): return withUnsafeBytes(of: value.uuid) { repeated($0, property, count: count) }
    case .string(let value): text = value
    case .url(let value): text = value.absoluteString
    case .decimal(let value): text = value.description
    case .data, .null, nil: return nil
    }
    return Array(text.utf8).withUnsafeBytes { repeated($0, property, count: count) }
  }

  private static func repeated(_ bytes: UnsafeRawBufferPointer, _ property: Property, count: Int) -> RowBatch.Column {
    let arena = ByteArena(capacity: bytes.count * count)
    var offsets: [UInt32] = [0]
    for _ in 0..<count {
      arena.append(bytes)
      offsets.append(UInt32(truncatingIfNeeded: arena.count))
    }
    return RowBatch.Column(slot: property.slot, values: .bytes(offsets: offsets, arena: arena))
  }

  /// Why a text of the job file is no value of an attribute; nil if it is one.
  static func problem(
    with text: [UInt8], _ property: Property, _ attribute: AttributeDescription
  ) -> String? {
    let column = ImportColumn(
      label: attribute.name, property: property, target: .attribute(attribute), rules: ValueRules())
    var builder = ColumnBuilder(column, capacity: 1)
    do throws(ImportFieldError) {
      try text.withUnsafeBufferPointer { (bytes) throws(ImportFieldError) in
        try builder.append(UnsafeRawBufferPointer(bytes), .quotedText)
      }
      return nil
    } catch {
      return error.message
    }
  }

  /// A column with the same text in each row.
  static func repeated(_ column: ImportColumn, count: Int) -> RowBatch.Column? {
    guard let text = column.constant else { return nil }
    var builder = ColumnBuilder(column, capacity: count)
    for _ in 0..<count {
      do throws(ImportFieldError) {
        try text.withUnsafeBufferPointer { (bytes) throws(ImportFieldError) in
          try builder.append(UnsafeRawBufferPointer(bytes), .quotedText)
        }
      } catch {
        // Looked at when the job was accepted.
        return nil
      }
    }
    return builder.built(count: count)
  }
}
