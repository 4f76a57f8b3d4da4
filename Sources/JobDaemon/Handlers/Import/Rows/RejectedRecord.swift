import Jobs
import RecordInput
import SystemSupport

/// A record that can't be imported, and why.
struct RejectedRecord: Sendable {
  let line: Int
  let byteOffset: Int
  /// The name of the column, if it is one column's.
  let column: String?
  /// Where it is in the record, for messages: begins with a comma, or is empty.
  let place: String
  /// The rule that was broken, such as `type`; stays the same from release to release.
  let rule: String
  let message: String
  /// The record as it came.
  let raw: String

  init(
    line: Int, byteOffset: Int, column: String? = nil, place: String = "", rule: String, message: String, raw: String
  ) {
    self.line = line
    self.byteOffset = byteOffset
    self.column = column
    self.place = place
    self.rule = rule
    self.message = message
    self.raw = raw
  }

  /// A record that can't be read.
  init(_ error: RecordError, in source: RecordSource) {
    let field = error.fieldIndex.map { ", field \($0 + 1)" } ?? ""
    let names = source.columnNames
    self.init(
      line: error.line, byteOffset: source.record.offset,
      column: error.fieldIndex.flatMap { index in names.flatMap { index < $0.count ? $0[index] : nil } },
      place: ", column \(error.column)\(field)", rule: error.rule, message: error.message, raw: source.rawText)
  }

  /// A record whose field is not what its property needs.
  init(_ error: ImportFieldError, in source: RecordSource) {
    self.init(
      line: source.record.line, byteOffset: source.record.offset, column: error.label,
      place: error.position.map { ", column \($0 + 1) (\(error.label ?? ""))" } ?? "", rule: error.rule,
      message: error.message, raw: source.rawText)
  }

  /// Why an import fails because of it.
  ///
  /// - Parameters:
  ///   - more: how many other records are bad.
  ///   - looked: how many records were looked at, if not all were.
  func failure(_ path: String, more: Int64 = 0, among looked: Int64? = nil) -> JobFailure {
    let part = looked.map { " among the first \($0)" } ?? ""
    let others = more > 0 ? " (and \(more) more bad \(more == 1 ? "record" : "records")\(part))" : ""
    return JobFailure("\(displayName(path)): line \(line)\(place): \(message)\(others)")
  }
}

extension RecordSource {
  fileprivate var rawText: String { String(decoding: record.raw, as: UTF8.self) }
}
