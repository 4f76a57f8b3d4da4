import DelimitedText
import JSONText

/// Where an import goes on after an interruption; kept with the rows, as JSON with a version.
struct ImportCursor: Equatable {
  /// After the last imported record.
  var position: DelimitedPosition
  var rows: Int64
  /// Tells whether the input is still the file that was begun with.
  var inputSize: Int64

  init(position: DelimitedPosition, rows: Int64, inputSize: Int64) {
    self.position = position
    self.rows = rows
    self.inputSize = inputSize
  }

  init?(_ text: String) {
    guard let value = try? JSONValue(parsing: Array(text.utf8), dialect: .json), value["version"]?.integer == 1,
      let offset = value["offset"]?.integer, let line = value["line"]?.integer, let rows = value["rows"]?.integer,
      let size = value["inputSize"]?.integer
    else { return nil }
    position = DelimitedPosition(byteOffset: Int(offset), line: Int(line))
    self.rows = rows
    inputSize = size
  }

  var text: String {
    JSONValue.object([
      "version": 1, "offset": .integer(Int64(position.byteOffset)), "line": .integer(Int64(position.line)),
      "rows": .integer(rows), "inputSize": .integer(inputSize),
    ]).serialized()
  }
}
