import DelimitedText
import JSONText
import ObjectModel
import RecordInput

/// What the values of one column of the input have in common.
struct ColumnSurvey {
  let name: String
  private var candidates: [AttributeType] = [.boolean, .integer64, .double, .date, .uuid]
  private var values: Int64 = 0
  private var empty: Int64 = 0
  private var longest = 0

  init(_ name: String) { self.name = name }

  mutating func note(_ field: UnsafeRawBufferPointer, _ kind: FieldKind) {
    if field.isEmpty || kind.isMissing {
      empty += 1
      return
    }
    values += 1
    longest = max(longest, field.count)
    if candidates.isEmpty { return }
    candidates.removeAll { !Self.fits(field, $0) }
  }

  private static func fits(_ field: UnsafeRawBufferPointer, _ type: AttributeType) -> Bool {
    switch type {
    case .boolean: FieldParser.bool(field) != nil
    case .integer64: FieldParser.int64(field) != nil
    case .double: FieldParser.double(field) != nil
    case .date: FieldParser.date(field) != nil
    case .uuid: FieldParser.uuid(field) != nil
    default: false
    }
  }

  /// The narrowest type that all values have.
  private var type: AttributeType { values == 0 ? .string : candidates.first ?? .string }

  func json(attribute: String?) -> JSONValue {
    .object([
      "name": .string(name), "type": .string(type.rawValue), "values": .integer(values), "empty": .integer(empty),
      "longest": .integer(Int64(longest)), "goesTo": attribute.map(JSONValue.string) ?? .null,
    ])
  }
}
