import JSONText
import RecordInput

/// Where an import goes on after an interruption; kept with the rows, as JSON with a version.
struct ImportCursor: Equatable {
  /// After the last imported record.
  var position: RecordPosition
  var rows: Int64
  /// Tells whether the input is still the file that was begun with.
  var inputSize: Int64
  /// In nanoseconds since 1970.
  var inputTime: Int64
  /// Whether rows were taken back: what is left of them must go, too, before anything is imported.
  private(set) var isGoingBack = false
  /// The primary keys of the imported rows, so that they can be taken back; chunks that follow each other are joined.
  private(set) var keys: [Range<Int64>] = []

  init(position: RecordPosition, inputSize: Int64, inputTime: Int64) {
    self.position = position
    rows = 0
    self.inputSize = inputSize
    self.inputTime = inputTime
  }

  /// Goes behind a chunk.
  mutating func advance(to position: RecordPosition, importing chunk: Range<Int64>) {
    self.position = position
    rows += Int64(chunk.count)
    if let last = keys.last, last.upperBound == chunk.lowerBound {
      keys[keys.count - 1] = last.lowerBound..<chunk.upperBound
    } else {
      keys.append(chunk)
    }
  }

  /// Forgets the last so many rows at most, and returns their keys; nil if there are none left.
  mutating func takeBack(_ limit: Int) -> Range<Int64>? {
    guard let last = keys.popLast() else { return nil }
    isGoingBack = true
    let taken = max(last.lowerBound, last.upperBound - Int64(limit))..<last.upperBound
    if taken.lowerBound > last.lowerBound { keys.append(last.lowerBound..<taken.lowerBound) }
    rows -= Int64(taken.count)
    return taken
  }

  init?(_ text: String) {
    guard let value = try? JSONValue(parsing: Array(text.utf8), dialect: .json), value["version"]?.integer == 1,
      let offset = value["offset"]?.integer, let line = value["line"]?.integer, let rows = value["rows"]?.integer,
      let size = value["inputSize"]?.integer, let time = value["inputTime"]?.integer,
      let isGoingBack = value["goesBack"]?.bool, let blocks = value["keys"]?.array
    else { return nil }
    position = RecordPosition(byteOffset: Int(offset), line: Int(line))
    self.rows = rows
    inputSize = size
    inputTime = time
    self.isGoingBack = isGoingBack
    keys = blocks.compactMap { block in
      guard let first = block.array?.first?.integer, let end = block.array?.last?.integer, first < end else {
        return nil
      }
      return first..<end
    }
  }

  var text: String {
    JSONValue.object([
      "version": 1, "offset": .integer(Int64(position.byteOffset)), "line": .integer(Int64(position.line)),
      "rows": .integer(rows), "inputSize": .integer(inputSize),
      "inputTime": .integer(inputTime), "goesBack": .bool(isGoingBack),
      "keys": .array(keys.map { .array([.integer($0.lowerBound), .integer($0.upperBound)]) }),
    ]).serialized()
  }
}
