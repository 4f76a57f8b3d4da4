import ObjectModel
import SQLGeneration
import StoreInterface

/// Looks for large values that are missing, shorter than their names tell, or named by no row.
struct LargeValueAudit {
  let connection: Connection
  let schema: Schema

  func findings() throws(StoreError) -> [String] {
    var findings: [String] = []
    var uses: [String] = []
    for table in schema.tables {
      let properties = table.members.flatMap(\.properties).filter(\.isPersistent)
      for column in Set(properties.compactMap { table.fileColumnName(of: $0) }).sorted() {
        let (name, quoted) = (SchemaName.quoted(table.name), SchemaName.quoted(column))
        uses.append("NOT EXISTS (SELECT 1 FROM \(name) AS t WHERE t.\(quoted) = f.name)")
        let wrong = try count(
          "FROM \(name) AS t WHERE \(quoted) IS NOT NULL AND split_part(\(quoted), '.', 2) IS DISTINCT FROM "
            + "(SELECT sum(length(bytes))::text FROM _file WHERE name = t.\(quoted))")
        if wrong > 0 { findings.append("\(wrong) large values of \(table.name) are not there, or not whole") }
      }
    }
    let condition = uses.isEmpty ? "" : " WHERE " + uses.joined(separator: " AND ")
    let unused = try count("FROM (SELECT DISTINCT name FROM _file) AS f" + condition)
    if unused > 0 { findings.append("no row refers to \(unused) of the large values") }
    return findings
  }

  func count(_ rest: String) throws(StoreError) -> Int64 {
    try connection.query("SELECT count(*) \(rest)").integer(0, 0)
  }
}
