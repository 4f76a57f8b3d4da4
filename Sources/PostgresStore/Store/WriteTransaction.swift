import ObjectModel
import StoreInterface

/// A transaction of several steps on the writer's connection.
final class WriteTransaction: ReadingTransaction {
  private var save: SaveTransaction
  let reader: SnapshotReader
  private let reserve: (KeyReservation) throws(StoreError) -> Range<Int64>

  /// - Parameter reserve: reserves keys outside the transaction, so that nobody waits for its end to do so.
  init(
    _ save: SaveTransaction, reader: SnapshotReader,
    reserve: @escaping (KeyReservation) throws(StoreError) -> Range<Int64>
  ) {
    self.save = save
    self.reader = reader
    self.reserve = reserve
  }

  /// Runs the body between begin and commit.
  func run<Result>(_ body: (any StoreTransaction) throws -> Result) throws -> Result {
    let result: Result
    do {
      try save.begin()
      // Its steps go back to savepoints, which one that is not let pass does not have.
      try save.awaitOpening()
      result = try body(self)
    } catch {
      save.undo()
      throw error
    }
    try save.commit()
    return result
  }

  /// Keys stay reserved if the transaction is undone.
  func reserveKeys(_ request: KeyReservation) throws(StoreError) -> Range<Int64> { try reserve(request) }

  var derived: [DerivedValue] { save.derivedValues }

  func write(_ set: ChangeSet) throws(StoreError) -> [StoreConflict] { try save.write(set) }

  func write(
    _ batch: RowBatch, key: [Property], onConflict conflict: PackedConflict
  ) throws(StoreError) -> PackedResult { try save.write(batch, key: key, onConflict: conflict) }
}
