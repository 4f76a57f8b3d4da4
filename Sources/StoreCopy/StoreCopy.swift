package import SQLGeneration
import StoreInterface

/// Copies a store into a new one, in SQLite or PostgreSQL.
///
/// The source is one snapshot. Rows go over in the order of their keys, some megabytes in a transaction that also notes how
/// far it has come; a copy that was cut short goes on from there. Before the new store can be opened both are compared.
package struct StoreCopy {
  private let from: StoreAddress
  private let to: StoreAddress
  private let report: (CopyReport) throws -> Void

  private let batchBytes: Int

  /// - Parameters:
  ///   - batchBytes: the bytes of rows that are written in one transaction.
  ///   - report: called after each transaction, and now and then; what it throws ends the copy, which can go on.
  package init(
    from: StoreAddress, to: StoreAddress, batchBytes: Int = 4 << 20,
    report: @escaping (CopyReport) throws -> Void = { _ in }
  ) {
    self.batchBytes = batchBytes
    self.from = from
    self.to = to
    self.report = report
  }

  /// Copies everything.
  ///
  /// - Returns: the tables, which are equal in both stores.
  /// - Throws: ``StoreError`` that says what is in the way; what was copied so far stays.
  package func run() throws -> [StoreComparison.Table] {
    let source = try from.source(isAlone: true)
    if let obstacle = source.store.obstacles.first {
      throw StoreError(.unsupported, obstacle, path: source.place)
    }
    let target = try to.target(of: source.store)
    for table in source.store.tables { try copy(table, source, to: target) }
    let tables = try StoreComparison(source, target.reader(), report: report).run()
    if let table = tables.first(where: { !$0.isEqual }) {
      throw StoreError(
        .constraint,
        "the copy of the table \(table.name) differs from its source, which was changed since an earlier part of it was "
          + "copied: remove the unfinished copy, and copy anew", path: target.place)
    }
    try source.checkUnused()
    try report(CopyReport(.finishing, table: "", rows: 0, total: 0))
    try target.finish()
    return tables
  }

  private func copy(_ table: CopiedTable, _ source: any CopySource, to target: any CopyTarget) throws {
    let total = try source.size(of: table).rows
    let reader = try source.rows(of: table, after: target.progress[table.name])
    var rows = CopiedRows()
    var count: Int64 = 0
    while true {
      rows.removeAll()
      try reader.read(into: &rows, byteLimit: batchBytes)
      if rows.isEmpty { return }
      try target.write(rows, to: table, from: source)
      count += Int64(rows.count)
      try report(CopyReport(.copying, table: table.name, rows: count, total: total))
    }
  }
}

/// A look at what a copy would do.
package struct CopyTrial: Sendable {
  /// The tables with their rows and bytes.
  package private(set) var tables: [(name: String, size: CopiedSize)] = []
  /// The reasons why the store can't be copied, in sentences.
  package private(set) var obstacles: [String] = []
  /// Tables of other programs, which stay behind.
  package private(set) var foreignTables: [String] = []

  /// The texts that are told one by one.
  private static let toldTexts = 10

  /// Reads the whole source, also one that is in use, and looks at what is at the target; changes nothing.
  package static func run(from: StoreAddress, to: StoreAddress) throws -> CopyTrial {
    var trial = CopyTrial()
    let source = try from.source(isAlone: false)
    trial.foreignTables = source.store.foreignTables
    trial.obstacles = source.store.obstacles
    if let obstacle = to.obstacle(for: source.store) { trial.obstacles.append(obstacle) }
    for table in source.store.tables {
      trial.tables.append((table.name, try source.size(of: table)))
      if to.isPostgres { try trial.examine(table, source) }
    }
    return trial
  }

  /// Looks for texts that PostgreSQL does not store.
  private mutating func examine(_ table: CopiedTable, _ source: any CopySource) throws(StoreError) {
    let reader = try source.rows(of: table, after: nil)
    var rows = CopiedRows()
    while true {
      rows.removeAll()
      try reader.read(into: &rows, byteLimit: 1 << 20)
      if rows.isEmpty { return }
      for row in 0..<rows.count {
        let key = rows.key(row, of: table).first
        let problems = try rows.withValues(ofRow: row) { (values) throws(StoreError) in
          var problems: [String] = []
          for column in table.columns {
            guard case .text(let text)? = values.next(), let problem = TextProblem(in: text) else { continue }
            problems.append(problem.description(of: column, in: table, key: key))
          }
          return problems
        }
        obstacles += problems.prefix(max(0, Self.toldTexts - obstacles.count))
      }
    }
  }
}
