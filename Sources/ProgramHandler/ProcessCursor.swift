import JSONText

/// The cursor of a job between attempts: the program's own text, and the objects that its checkpoints have saved, so
/// that they can be reverted if the job fails for good. Stored as JSON with a version.
struct ProcessCursor: Equatable {
  /// The text of the program's last checkpoint.
  var text: String?
  /// True once objects are being reverted: the rest must go, too, before the program starts again.
  private(set) var isReverting = false
  /// The primary keys of the saved objects, by entity; those that follow each other are joined.
  private(set) var inserted: [String: [Range<Int64>]] = [:]

  init() {}

  var isEmpty: Bool { inserted.isEmpty && text == nil }

  mutating func note(_ key: Int64, of entity: String) {
    // Taken out meanwhile, so that the list isn't copied.
    var ranges = inserted.removeValue(forKey: entity) ?? []
    if let last = ranges.last, last.upperBound == key {
      ranges[ranges.count - 1] = last.lowerBound..<key + 1
    } else {
      ranges.append(key..<key + 1)
    }
    inserted[entity] = ranges
  }

  /// Drops at most `limit` objects, and returns their entity and keys; nil if there are none left.
  mutating func popObjects(atMost limit: Int) -> (entity: String, keys: Range<Int64>)? {
    guard let entity = inserted.keys.min(), let last = inserted[entity]?.popLast() else { return nil }
    isReverting = true
    let taken = max(last.lowerBound, last.upperBound - Int64(limit))..<last.upperBound
    if taken.lowerBound > last.lowerBound { inserted[entity]?.append(last.lowerBound..<taken.lowerBound) }
    if inserted[entity]?.isEmpty == true { inserted[entity] = nil }
    return (entity, taken)
  }

  init?(_ stored: String) {
    guard let value = try? JSONValue(parsing: Array(stored.utf8)), value["version"]?.integer == 1,
      let isReverting = value["goesBack"]?.bool, let entities = value["inserted"]?.object
    else { return nil }
    text = value["cursor"]?.string
    self.isReverting = isReverting
    for (entity, blocks) in entities {
      inserted[entity] = blocks.array?.compactMap { block in
        guard let first = block.array?.first?.integer, let end = block.array?.last?.integer, first < end else {
          return nil
        }
        return first..<end
      }
    }
  }

  var stored: String {
    var entities = JSONObject()
    for (entity, ranges) in inserted.sorted(by: { $0.key < $1.key }) {
      entities[entity] = .array(ranges.map { .array([.integer($0.lowerBound), .integer($0.upperBound)]) })
    }
    return JSONValue.object([
      "version": 1, "cursor": text.map(JSONValue.string) ?? .null, "goesBack": .bool(isReverting),
      "inserted": .object(entities),
    ]).serialized()
  }
}
