import SQLGeneration
import StoreInterface

/// Compares two stores: the number of rows of each table, a hash of all of them, and row by row.
///
/// Documentation/StoreCopy.md defines the hash. Nothing of a table is held in memory but the rows at hand.
package struct StoreComparison {
  /// A table that one store or both have.
  package struct Table: Sendable, Hashable {
    package let name: String
    /// The numbers of rows; nil where there is no such table.
    package internal(set) var rows: [Int64?]
    package internal(set) var hashes: [String]
    /// The first rows that differ.
    package internal(set) var differences: [Difference] = []
    /// The number of rows that differ.
    package internal(set) var differenceCount = 0

    package var isEqual: Bool { differenceCount == 0 && rows[0] == rows[1] && hashes[0] == hashes[1] }
  }

  /// A row that is otherwise, or missing.
  package struct Difference: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
      case onlyInFirst, onlyInSecond
      /// The names of the columns.
      case different([String])
    }

    package let key: String
    package let kind: Kind
  }

  /// The rows of a table that are told one by one.
  private static let toldDifferences = 10
  /// The rows between two reports.
  private static let reportedRows: Int64 = 10_000

  private let first: any CopySource
  private let second: any CopySource
  private let report: (CopyReport) throws -> Void

  /// - Parameter report: called now and then; what it throws ends the comparison.
  init(_ first: any CopySource, _ second: any CopySource, report: @escaping (CopyReport) throws -> Void) {
    self.first = first
    self.second = second
    self.report = report
  }

  /// Compares the stores at two addresses, which others may have open.
  package static func run(
    _ first: StoreAddress, _ second: StoreAddress, report: @escaping (CopyReport) throws -> Void = { _ in }
  ) throws -> [Table] {
    try StoreComparison(first.source(isAlone: false), second.source(isAlone: false), report: report).run()
  }

  func run() throws -> [Table] {
    let (own, others) = (first.store.tables, second.store.tables)
    let names = Set((own + others).map(\.name)).sorted()
    return try names.map { name in
      try compare(name, own.first { $0.name == name }, with: others.first { $0.name == name })
    }
  }

  private func compare(_ name: String, _ own: CopiedTable?, with other: CopiedTable?) throws -> Table {
    guard let own, let other, own.columns.map(\.name) == other.columns.map(\.name) else {
      let sizes = [try own.map { try first.size(of: $0).rows }, try other.map { try second.size(of: $0).rows }]
      var table = Table(name: name, rows: sizes, hashes: ["", ""])
      table.differenceCount = 1
      let columns = Set(own?.columns.map(\.name) ?? []).symmetricDifference(other?.columns.map(\.name) ?? []).sorted()
      table.differences = [
        Difference(
          key: "", kind: own == nil ? .onlyInSecond : other == nil ? .onlyInFirst : .different(columns))
      ]
      return table
    }
    let total = try first.size(of: own).rows
    try report(CopyReport(.comparing, table: name, rows: 0, total: total))
    let left = try RowFeed(first, own)
    let right = try RowFeed(second, other)
    var table = Table(name: name, rows: [], hashes: [])
    var next = Self.reportedRows
    while left.key != nil || right.key != nil {
      switch (left.key, right.key) {
      case (let key?, let otherKey) where otherKey.map({ key < $0 }) ?? true:
        note(key, .onlyInFirst, in: &table)
        try left.advance()
      case (let ownKey, let key?) where ownKey.map({ key < $0 }) ?? true:
        note(key, .onlyInSecond, in: &table)
        try right.advance()
      case (let key?, _):
        if try !left.matches(right) { note(key, .different(try left.differences(from: right)), in: &table) }
        try left.advance()
        try right.advance()
      case (nil, _): break
      }
      if left.count >= next {
        next = left.count + Self.reportedRows
        try report(CopyReport(.comparing, table: name, rows: left.count, total: total))
      }
    }
    table.rows = [left.count, right.count]
    table.hashes = [left.finish(), right.finish()]
    return table
  }

  private func note(_ key: CopyKey, _ kind: Difference.Kind, in table: inout Table) {
    table.differenceCount += 1
    if table.differences.count < Self.toldDifferences {
      table.differences.append(Difference(key: key.description, kind: kind))
    }
  }
}

/// The progress of a copy or a comparison.
package struct CopyReport: Sendable, Hashable {
  package enum Step: Sendable, Hashable { case copying, comparing, finishing }

  package let step: Step
  package let table: String
  package let rows: Int64
  /// The rows that the table has.
  package let total: Int64

  init(_ step: Step, table: String, rows: Int64, total: Int64) {
    self.step = step
    self.table = table
    self.rows = rows
    self.total = total
  }
}
