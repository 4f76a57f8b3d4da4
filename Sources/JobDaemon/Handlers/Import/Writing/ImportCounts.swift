import JSONText

/// What became of the records of an import.
struct ImportCounts: Equatable, Sendable {
  var inserted: Int64 = 0
  var updated: Int64 = 0
  var unchanged: Int64 = 0
  var skipped: Int64 = 0
  /// Objects that no record has the key of.
  var deleted: Int64 = 0
  var rejects: Int64 = 0

  /// Records that are in the store now.
  var rows: Int64 { inserted + updated + unchanged }
  var records: Int64 { rows + skipped + rejects }

  private static let fields: [(String, any WritableKeyPath<ImportCounts, Int64> & Sendable)] = [
    ("inserted", \.inserted), ("updated", \.updated), ("unchanged", \.unchanged), ("skipped", \.skipped),
    ("deleted", \.deleted), ("rejects", \.rejects),
  ]

  init() {}

  init(_ value: JSONValue) { for (name, field) in Self.fields { self[keyPath: field] = value[name]?.integer ?? 0 } }

  var json: JSONObject {
    var object = JSONObject()
    for (name, field) in Self.fields { object[name] = .integer(self[keyPath: field]) }
    return object
  }
}
