import Foundation
import RecordInput
import SystemSupport
import TestSupport

/// All that a source tells about one record or error, as values that can be compared.
struct ReadRecord: Equatable {
  var fields: [String?] = []
  var kinds: [FieldKind] = []
  var raw = ""
  var line = 0
  var offset = 0
  var next = RecordPosition.start
  var error: RecordError?
}

/// What a source gives from its start, or from a position, to its end.
struct Reading: Equatable {
  var columns: [String]?
  var records: [ReadRecord] = []
  /// Why it ended early.
  var failure: InputError?

  /// The texts of good records; nil for what is missing.
  var rows: [[String?]] { records.filter { $0.error == nil }.map(\.fields) }
  var rules: [String] { records.compactMap(\.error?.rule) }

  init(_ source: RecordSource, from position: RecordPosition? = nil) {
    do throws(InputError) {
      if let position { try source.go(to: position) }
      while true {
        var record = ReadRecord()
        switch try source.next() {
        case .end:
          columns = source.columnNames
          return
        case .bad(let error): record.error = error
        case .record:
          let fields = source.record.fields
          for index in 0..<fields.count {
            record.kinds.append(fields.kind(index))
            record.fields.append(fields.kind(index).isMissing ? nil : String(decoding: fields[index], as: UTF8.self))
          }
        }
        record.raw = String(decoding: source.record.raw, as: UTF8.self)
        record.line = source.record.line
        record.offset = source.record.offset
        record.next = source.position
        records.append(record)
      }
    } catch {
      columns = source.columnNames
      failure = error
    }
  }
}

/// Opens bytes as a file.
func openSource(_ bytes: some Sequence<UInt8>, _ change: (inout InputOptions) -> Void = { _ in }) throws -> RecordSource
{
  var options = InputOptions()
  change(&options)
  let file = try FileDescriptor.inMemory(named: "input")
  try file.writeAll(Data(bytes))
  return try RecordSource(file, options)
}

func read(_ text: String, _ change: (inout InputOptions) -> Void = { _ in }) throws -> Reading {
  Reading(try openSource(text.utf8, change))
}

func read(_ bytes: [UInt8], _ change: (inout InputOptions) -> Void = { _ in }) throws -> Reading {
  Reading(try openSource(bytes, change))
}

/// The path of a file that a Debian package brings, or nil with a note if it is not installed.
func installed(_ path: String) -> String? {
  if FileManager.default.isReadableFile(atPath: path) { return path }
  print("skipped: \(path) is not installed")
  return nil
}

/// Packs bytes with a command that reads standard input, such as `gzip -c`.
func packed(_ bytes: some Sequence<UInt8>, _ command: String) async throws -> [UInt8] {
  let directory = try TemporaryDirectory()
  try Data(bytes).write(to: URL(filePath: directory.path("in")))
  let tool = try await Tool.run(
    "/bin/sh", ["-c", "{ \(command); } <\(directory.path("in")) >\(directory.path("out"))"])
  guard tool.code == 0 else { throw InputError("\(command): \(tool.errors)") }
  return try [UInt8](Data(contentsOf: URL(filePath: directory.path("out"))))
}
