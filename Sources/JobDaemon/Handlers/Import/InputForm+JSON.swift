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

extension InputForm {
  /// A record of fields, as the input would have it.
  func record(_ fields: [String]) -> String {
    let separator = Character(Unicode.Scalar(dialect.separator))
    let quote = dialect.quote.map { Character(Unicode.Scalar($0)) }
    return fields.map { field in
      guard let quote, field.contains(where: { $0 == separator || $0 == quote || $0.isNewline }) else { return field }
      return "\(quote)\(field.replacing(String(quote), with: "\(quote)\(quote)"))\(quote)"
    }.joined(separator: String(separator))
  }
}
