import JSONText
import RecordInput

/// What the values of one column of the input have in common.
struct ColumnSurvey {
  let name: String
  private let isTyped: Bool
  private var guess = ColumnGuess()
  private let scratch = ByteScratch()
  private var records: Int64 = 0
  private var longest = 0

  /// - Parameter isTyped: whether quotes make a text, as in JSON.
  init(_ name: String, isTyped: Bool) {
    self.name = name
    self.isTyped = isTyped
  }

  mutating func note(_ field: UnsafeRawBufferPointer, _ kind: FieldKind) {
    records += 1
    longest = max(longest, field.count)
    guess.add(field, kind, isTyped: isTyped, scratch)
  }

  func json(attribute: String?) -> JSONValue {
    var object: JSONObject = [
      "name": .string(name), "type": .string(guess.type.rawValue), "values": .integer(guess.valueCount),
      "empty": .integer(records - guess.valueCount),
      "longest": .integer(Int64(longest)), "goesTo": attribute.map(JSONValue.string) ?? .null,
    ]
    for (key, value) in guess.spelling.keys { object[key] = .string(value) }
    return .object(object)
  }
}
