/// How the records of an input are written.
package enum InputFormat: String, Sendable, Hashable, CaseIterable {
  /// Fields between separators, of which the comma is only the most usual.
  case csv
  /// As `csv`, with tabs.
  case tsv
  /// A JSON value on each line.
  case ndjson
  /// One JSON text: an array of records, or one record.
  case json
}
