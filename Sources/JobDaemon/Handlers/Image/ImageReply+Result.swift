import ImageProtocol
import JSONText

extension ImageReply {
  /// What the job's result says.
  ///
  /// - Parameter paths: where each output's file is; nil for one without a file.
  func result(paths: [String?]) -> JSONValue {
    var found = Self.picture(
      input.format, input.width, input.height, pages: input.pages, input.bytes, input.sha256)
    found["note"] = input.note.map(JSONValue.string)
    var result: JSONObject = [
      "input": .object(found),
      "outputs": .array(
        zip(outputs.indices, paths).map { index, path in
          let output = outputs[index]
          var object = Self.picture(
            output.format, output.width, output.height, pages: output.pages, output.bytes, output.sha256)
          object["quality"] = output.quality.map { .integer(Int64($0)) }
          if reused.contains(index) { object["reused"] = true }
          object["path"] = path.map(JSONValue.string)
          return .object(object)
        }),
    ]
    if let placeholder {
      result["placeholder"] = .object([
        "picture": .string(placeholder.picture), "colour": .string(placeholder.colour.text),
      ])
    }
    if isReused { result["reused"] = true }
    return .object(result)
  }

  private static func picture(
    _ format: ImageFormat, _ width: Int, _ height: Int, pages: Int, _ bytes: Int, _ sha256: String
  ) -> JSONObject {
    var object: JSONObject = [
      "format": .string(format.rawValue), "width": .integer(Int64(width)), "height": .integer(Int64(height)),
      "bytes": .integer(Int64(bytes)), "sha256": .string(sha256),
    ]
    if pages > 1 { object["pages"] = .integer(Int64(pages)) }
    return object
  }
}
