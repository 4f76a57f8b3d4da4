internal import Foundation
import SQLGeneration
import StoreInterface

/// Looks for what contradicts itself in a store: pages, references, links, and the files of large values.
struct StoreAudit {
  let connection: Connection
  let schema: Schema
  let files: ExternalFiles

  func findings() throws(StoreError) -> [String] {
    var findings: [String] = []
    try connection.transaction { () throws(StoreError) in
      findings =
        try damage() + SchemaAudit(schema) { (rest) throws(StoreError) in try count(rest) }.findings() + largeValues()
    }
    return findings
  }

  private func damage() throws(StoreError) -> [String] {
    try texts("PRAGMA integrity_check").filter { $0 != "ok" }
  }

  /// Each name in a column has its file, of the size that it tells, and each file its name.
  private func largeValues() throws(StoreError) -> [String] {
    let referred = try connection.largeValueNames()
    var findings: [String] = []
    for name in referred.sorted() {
      let size = (try? FileManager.default.attributesOfItem(atPath: files.path(name)))?[.size] as? Int
      if size == nil { findings.append("the file \(name) of a large value is missing") }
      if let size, size != files.blob(named: name).byteCount { findings.append("the file \(name) has \(size) bytes") }
    }
    let present = FileSystem.names(in: files.folder).filter { $0 != "staging" }
    for name in present.sorted() where !referred.contains(name) { findings.append("no row refers to the file \(name)") }
    return findings
  }

  private func count(_ rest: String) throws(StoreError) -> Int64 {
    try connection.controlResult("SELECT count(*) \(rest)") { $0.integer(0) } ?? 0
  }

  private func texts(_ sql: String) throws(StoreError) -> [String] {
    var texts: [String] = []
    try connection.runControl(sql) { statement in
      texts.append(statement.text(0))
      return true
    }
    return texts
  }
}
