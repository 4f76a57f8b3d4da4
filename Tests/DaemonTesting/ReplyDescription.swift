package import JSONText

/// The description of the status interface that a daemon serves, to hold its replies against.
package struct ReplyDescription {
  private let document: JSONValue

  package init(_ document: JSONValue) { self.document = document }

  /// The methods and paths that are described.
  package var routes: [(method: String, path: String)] {
    (document["paths"]?.object ?? [:]).flatMap { path, operations in
      (operations.object ?? [:]).keys.map { ($0.uppercased(), path) }
    }
  }

  /// The forms that a reply of a status may have, such as `text/csv`.
  package func mediaTypes(of method: String, _ path: String, status: Int) -> [String] {
    let response = document["paths"]?[path]?[method.lowercased()]?["responses"]?[String(status)]
    return response.map(resolved)?["content"]?.object?.keys ?? []
  }

  /// What is wrong with a reply, as its description has it; none if it is as described.
  ///
  /// Unlike validators, it does not let pass a key that is not described.
  package func problems(_ reply: JSONValue, of method: String, _ path: String, status: Int) -> [String] {
    guard let operation = document["paths"]?[path]?[method.lowercased()] else { return ["\(path) is not described"] }
    guard let response = operation["responses"]?[String(status)] else { return ["\(status) is not described"] }
    guard let schema = resolved(response)["content"]?["application/json"]?["schema"] else {
      return ["the body of \(status) is not described"]
    }
    return problems(reply, schema, "reply")
  }

  private func resolved(_ value: JSONValue) -> JSONValue {
    guard let reference = value["$ref"]?.string, reference.hasPrefix("#/") else { return value }
    return reference.dropFirst(2).split(separator: "/").reduce(document) { $0[String($1)] ?? .null }
  }

  private func problems(_ value: JSONValue, _ schema: JSONValue, _ place: String) -> [String] {
    let schema = resolved(schema)
    guard schema.object != nil else { return ["\(place): there is no such schema"] }
    if let choices = schema["anyOf"]?.array {
      let found = choices.map { problems(value, $0, place) }
      return found.contains([]) ? [] : found.first ?? []
    }
    let types = schema["type"].map { $0.array ?? [$0] } ?? []
    if !types.isEmpty, !types.contains(where: { Self.fits(value, $0.string ?? "") }) {
      return ["\(place) is \(value.kindName), but \(types.map { $0.string ?? "" }) is described"]
    }
    if let array = value.array, let items = schema["items"] {
      return array.enumerated().flatMap { problems($1, items, "\(place).\($0)") }
    }
    guard let object = value.object, !types.isEmpty else { return [] }
    let missing = (schema["required"]?.array ?? []).compactMap(\.string).filter { object[$0] == nil }
    var found = missing.map { "\(place).\($0) is missing" }
    for (key, member) in object {
      if let described = schema["properties"]?[key] ?? schema["additionalProperties"] {
        found += problems(member, described, "\(place).\(key)")
      } else if schema["properties"] != nil {
        found.append("\(place).\(key) is not described")
      }
    }
    return found
  }

  private static func fits(_ value: JSONValue, _ type: String) -> Bool {
    switch type {
    case "null": value.isNull
    case "boolean": value.bool != nil
    case "integer": value.integer != nil
    case "number": value.number != nil
    case "string": value.string != nil
    case "array": value.array != nil
    case "object": value.object != nil
    default: false
    }
  }
}
