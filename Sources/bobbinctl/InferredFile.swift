import JSONText
import RecordInput
import SystemSupport

/// A file of data that was read, with the model and the job that were made of it.
struct InferredFile {
  var model: InferredModel
  let table: TableGuess
  let job: JSONValue

  /// Tells each column's type, and the reason for it.
  ///
  /// - Parameter written: The files that were made.
  func report(written: [String], _ session: Session) throws(ToolError) {
    if session.printsJSON {
      let attributes = model.attributes.map { attribute in
        JSONValue.object([
          "column": attribute.column.map { .string($0) } ?? .null, "name": .string(attribute.name),
          "type": .string(attribute.type.rawValue), "optional": .bool(attribute.isOptional),
          "written": attribute.spelling.example.map { .string($0) } ?? .null,
          "reference": attribute.reference.map { .string("\($0.entity).\($0.key)") } ?? .null,
          "blank": .integer(attribute.blankCount), "why": .string(attribute.explanation),
        ])
      }
      let value: JSONValue = .object([
        "entity": .string(model.entity), "records": .integer(table.records), "badRecords": .integer(table.badRecords),
        "key": .array(model.key.map { .string($0) }), "attributes": .array(attributes),
        "files": .array(written.map { .string($0) }),
      ])
      return try session.output.write(value.serialized() + "\n")
    }
    var shown = Table(columns: [
      .init(title: "COLUMN", isFlexible: true), .init(title: "ATTRIBUTE"), .init(title: "TYPE"),
      .init(title: "BLANK"),
    ])
    for (index, attribute) in model.attributes.enumerated() {
      var type = attribute.type.rawValue + (attribute.spelling.example.map { " (\($0))" } ?? "")
      if let reference = attribute.reference { type = "to \(reference.entity) by \(reference.key)" }
      if attribute.isOptional { type += ", optional" }
      if model.key.contains(attribute.name) { type += ", key" }
      let blank = Double(attribute.blankCount) * 100 / Double(table.records)
      shown.rows.append([
        .init(attribute.column ?? "\(index + 1)"), .init(attribute.name), .init(type),
        .init(attribute.blankCount == 0 ? "" : blank < 1 ? "< 1 %" : "\(Int(blank)) %"),
      ])
    }
    try session.output.write(
      singleLine("\(model.entity): \(table.records) \(table.records == 1 ? "record" : "records")") + "\n")
    try session.output.write(shown)
    for (index, attribute) in model.attributes.enumerated() where attribute.reference == nil {
      try session.output.write(singleLine("\(attribute.column ?? "\(index + 1)"): \(attribute.explanation)") + "\n")
    }
  }
}
