internal import Foundation
import ObjectModel
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
      findings = try damage() + rows() + references() + links() + largeValues()
    }
    return findings
  }

  private func damage() throws(StoreError) -> [String] {
    try texts("PRAGMA integrity_check").filter { $0 != "ok" }
  }

  private func rows() throws(StoreError) -> [String] {
    var findings: [String] = []
    for table in schema.tables {
      let name = SchemaName.quoted(table.name)
      if try count("FROM \(name) WHERE _version < 1") > 0 {
        findings.append("\(table.name) has rows without a version")
      }
    }
    return findings
  }

  /// A relationship whose inverse clears it leads to an object that exists.
  private func references() throws(StoreError) -> [String] {
    var findings: [String] = []
    for table in schema.tables {
      for property in table.members.flatMap(\.properties) where property.storage == .reference && property.isPersistent
      {
        guard let destination = property.destination, let rule = property.inverse?.relationship?.deleteRule,
          rule == .nullify || rule == .cascade
        else { continue }
        let (column, other) = (SchemaName.quoted(property.columnName), SchemaName.quoted(destination.root.name))
        let dangling = try count(
          "FROM \(SchemaName.quoted(table.name)) AS r WHERE \(column) IS NOT NULL "
            + "AND NOT EXISTS (SELECT 1 FROM \(other) AS d WHERE d._key = r.\(column))")
        if dangling > 0 { findings.append("\(dangling) of \(table.name).\(property.name) lead nowhere") }
      }
    }
    return findings
  }

  /// Both ends of a link exist, and a link that is its own inverse has its twin.
  private func links() throws(StoreError) -> [String] {
    var findings: [String] = []
    for links in schema.linkTables {
      let (table, name) = (links.table, SchemaName.quoted(links.name))
      let (left, right) = (SchemaName.quoted(table.leftColumn), SchemaName.quoted(table.rightColumn))
      for (column, end) in [(left, table.left), (right, table.right)] {
        let other = SchemaName.quoted(end.root.name)
        let dangling = try count(
          "FROM \(name) AS l WHERE NOT EXISTS (SELECT 1 FROM \(other) AS d WHERE d._key = l.\(column))")
        if dangling > 0 { findings.append("\(dangling) links of \(links.name) lead nowhere by \(column)") }
      }
      guard table.isSymmetric else { continue }
      let single = try count(
        "FROM \(name) AS l WHERE NOT EXISTS "
          + "(SELECT 1 FROM \(name) AS t WHERE t.\(left) = l.\(right) AND t.\(right) = l.\(left))")
      if single > 0 { findings.append("\(single) links of \(links.name) lead one way only") }
    }
    return findings
  }

  /// Each name in a column has its file, of the size that it tells, and each file its name.
  private func largeValues() throws(StoreError) -> [String] {
    let referred = try FileSweep(connection: connection, schema: schema, files: files).referredNames()
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

  private func count(_ rest: String) throws(StoreError) -> Int {
    try connection.controlResult("SELECT count(*) \(rest)") { Int($0.integer(0)) } ?? 0
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
