import ObjectModel
import StoreInterface

/// A transaction of several steps on the writer's connection.
final class WriteTransaction: ReadingTransaction {
  private var save: SaveTransaction
  let reader: SnapshotReader

  init(_ save: SaveTransaction, reader: SnapshotReader) {
    self.save = save
    self.reader = reader
  }

  /// Runs the body between begin and commit.
  func run<Result>(_ body: (any StoreTransaction) throws -> Result) throws -> Result {
    let result: Result
    do {
      try save.begin()
      result = try body(self)
    } catch {
      save.undo(after: error)
      throw error
    }
    try save.commit()
    return result
  }

  func reserveKeys(_ request: KeyReservation) throws(StoreError) -> Range<Int64> { try save.reserve(request) }

  var derived: [DerivedValue] { save.derivedValues }

  func write(_ set: ChangeSet) throws(StoreError) -> [StoreConflict] { try save.write(set) }

  func write(
    _ batch: RowBatch, key: [Property], onConflict conflict: PackedConflict
  ) throws(StoreError) -> PackedResult { try save.write(batch, key: key, onConflict: conflict) }
}
