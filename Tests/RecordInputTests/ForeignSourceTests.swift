import Foundation
import RecordInput
import SystemSupport
import TestSupport
import Testing

@Suite("Inputs of other origin")
struct ForeignSourceTests {
  private func source(_ path: String, _ change: (inout InputOptions) -> Void = { _ in }) throws -> RecordSource {
    var options = InputOptions()
    change(&options)
    return try RecordSource(try FileDescriptor.open(path), options)
  }

  @Test(
    "Registries of network vendors are read as Python's csv module reads them",
    arguments: ["oui", "oui36", "iab", "mam"])
  func vendors(name: String) async throws {
    guard let path = installed("/usr/share/ieee-data/\(name).csv"), installed("/usr/bin/python3") != nil else { return }
    let source = try source(path)
    let result = Reading(source)
    #expect(result.columns == ["Registry", "Assignment", "Organization Name", "Organization Address"])
    #expect(result.rules == [])
    #expect(try await rows(path, ",") == result.rows)
  }

  /// The records behind the header as Python's csv module reads them.
  private func rows(_ path: String, _ separator: String) async throws -> [[String]] {
    let script = """
      import csv, sys
      rows = list(csv.reader(open(sys.argv[1], newline='', encoding='utf-8'), delimiter=sys.argv[2]))
      print('\\x1e'.join('\\x1f'.join(row) for row in rows[1:] if row), end='')
      """
    let tool = try await Tool.run("/usr/bin/python3", ["-c", script, path, separator])
    #expect(tool.errors == "")
    return tool.output.utf8.split(separator: 0x1E).map {
      $0.split(separator: 0x1F, omittingEmptySubsequences: false).map { String(Substring($0)) }
    }
  }

  @Test("Tables of time zones have tabs, comments and no header")
  func timeZones() throws {
    guard let path = installed("/usr/share/zoneinfo/zone.tab") else { return }
    let source = try source(path) {
      $0.comment = 0x23
      $0.raggedRows = .fit
    }
    #expect(source.form.format == .tsv)
    #expect(!source.form.hasHeader)
    let rows = Reading(source).rows
    #expect(rows.count > 300)
    #expect(rows.contains { $0[0] == "DE" && $0[2] == "Europe/Berlin" })
  }

  @Test("Tables of releases have records of different lengths")
  func releases() throws {
    guard let path = installed("/usr/share/distro-info/debian.csv") else { return }
    let result = Reading(try source(path) { $0.raggedRows = .pad })
    #expect(result.columns?.prefix(3) == ["version", "codename", "series"])
    #expect(result.rules == [])
    #expect(result.rows.contains { $0[2] == "bookworm" })
    #expect(Reading(try source(path)).rules.contains("fieldCount"))
  }

  @Test(
    "Lists of languages and countries are found inside their object",
    arguments: ["639-2", "639-3", "3166-1", "3166-2", "4217", "15924"])
  func isoCodes(name: String) async throws {
    guard let path = installed("/usr/share/iso-codes/json/iso_\(name).json"), installed("/usr/bin/python3") != nil
    else { return }
    let source = try source(path)
    #expect(source.form.path == [name])
    let result = Reading(source)
    #expect(result.rules == [])
    #expect(result.failure == nil)
    let script = """
      import json, sys
      rows = json.load(open(sys.argv[1]))[sys.argv[2]]
      columns = []
      for row in rows: columns += [key for key in row if key not in columns]
      print('\\x1e'.join('\\x1f'.join(row.get(key, '') for key in columns) for row in rows), end='')
      """
    let tool = try await Tool.run("/usr/bin/python3", ["-c", script, path, name])
    #expect(tool.errors == "")
    let width = result.columns?.count ?? 0
    let ours = result.rows.map { row in
      (row + Array(repeating: nil, count: width - row.count)).map { $0 ?? "" }.joined(separator: "\u{1F}")
    }
    #expect(ours.joined(separator: "\u{1E}") == tool.output)
  }
}
