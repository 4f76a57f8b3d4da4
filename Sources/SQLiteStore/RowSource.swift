import ObjectGraph
import ObjectModel
import SQLGeneration

/// Reads rows by their keys.
struct RowSource: Sendable {
  let schema: Schema
  let files: ExternalFiles
  let coordinatorOrdinal: UInt32
  /// Keys per statement; measured: more are not faster per row, and each number is a statement of its own.
  static let chunk = 256

  func row(for id: ManagedObjectID, _ connection: Connection) throws(StoreError) -> Row? {
    try rows(for: [id], connection)[0]
  }

  /// The rows of objects of one family, each nil where there is none.
  func rows(for ids: [ManagedObjectID], _ connection: Connection) throws(StoreError) -> [Row?] {
    guard let first = ids.first else { return [] }
    let table = schema.table(of: schema.model.entities[Int(first.rootIndex)])
    var found: [Int64: Row] = [:]
    var reader = FamilyDecoder(table, columns: table.columnNames, schema: schema, files: files)
    var start = 0
    while start < ids.count {
      // Full chunks, then powers of two: few texts of statements, so that most are prepared already.
      let left = ids.count - start
      let count = left >= Self.chunk ? Self.chunk : left.nextPowerOfTwo
      try connection.run(
        table.selectSQL(keyCount: count),
        { statement in
          for place in 0..<count { statement.bind(ids[start + min(place, left - 1)].key, Int32(place + 1)) }
        },
        { statement throws(StoreError) in
          if let row = reader.row(statement, ordinal: coordinatorOrdinal) { found[statement.integer(0)] = row }
          return true
        })
      start += count
    }
    return ids.map { found[$0.key] }
  }
}

extension Int {
  fileprivate var nextPowerOfTwo: Int { self <= 1 ? 1 : 1 << (Int.bitWidth - (self - 1).leadingZeroBitCount) }
}
