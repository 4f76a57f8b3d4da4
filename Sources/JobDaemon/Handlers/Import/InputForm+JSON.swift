import JSONText
import RecordInput

extension InputForm {
  /// How the input is written, for a job's result.
  var json: JSONValue {
    var object: JSONObject = [
      "format": .string(format.rawValue), "compression": .string(compression.rawValue),
      "encoding": .string(encoding.name),
    ]
    if isDelimited {
      object["separator"] = .string(String(Character(Unicode.Scalar(dialect.separator))))
      object["quote"] = dialect.quote.map { .string(String(Character(Unicode.Scalar($0)))) } ?? .null
      object["header"] = .bool(hasHeader)
    } else if !path.isEmpty {
      object["records"] = .string(path.joined(separator: "."))
    }
    return .object(object)
  }
}
