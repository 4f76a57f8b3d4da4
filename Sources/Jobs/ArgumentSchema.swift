package import JSONText

/// Schemas of arguments, put together from the schemas of their values (JSON Schema 2020-12).
package enum ArgumentSchema {
  package static let text: JSONValue = ["type": "string"]
  package static let path: JSONValue = ["type": "string", "format": "path"]
  package static let flag: JSONValue = ["type": "boolean"]
  package static let number: JSONValue = ["type": "number"]

  package static func whole(in range: ClosedRange<Int>) -> JSONValue {
    ["type": "integer", "minimum": .integer(Int64(range.lowerBound)), "maximum": .integer(Int64(range.upperBound))]
  }

  package static func word(_ words: some Collection<String>) -> JSONValue {
    ["type": "string", "enum": .array(words.map(JSONValue.string))]
  }

  package static func list(of items: JSONValue) -> JSONValue { ["type": "array", "items": items] }

  /// A value of which a sentence says what it is for.
  package static func described(_ schema: JSONValue, _ description: String) -> JSONValue {
    guard var object = schema.object else { return schema }
    object["description"] = .string(description)
    return .object(object)
  }

  /// An object with these keys and no others.
  package static func object(_ properties: JSONObject, required: [String] = []) -> JSONValue {
    var schema: JSONObject = ["type": "object", "properties": .object(properties), "additionalProperties": false]
    if !required.isEmpty { schema["required"] = .array(required.map(JSONValue.string)) }
    return .object(schema)
  }
}
