package import Foundation
package import ObjectModel
import Synchronization

/// Keeps rows in memory, with the rules of a store on disk; for tests and for data that need not outlive the process.
///
/// A reader sees the state of its beginning: it holds the tables, and a save during that time copies those it changes.
package final class InMemoryStore: PersistentStore {
  package let identifier = UUID()
  package var path: String? { nil }
  package var stagingDirectory: String? { nil }
  let model: ManagedObjectModel
  let coordinatorOrdinal: UInt32
  private let state: Mutex<InMemoryState>
  /// Held by whoever writes, so that readers need not wait for a transaction.
  private let writing = Mutex(())
  private let transactionThread = TransactionThread()

  package init(model: ManagedObjectModel, coordinatorOrdinal: UInt32) {
    self.model = model
    self.coordinatorOrdinal = coordinatorOrdinal
    state = Mutex(InMemoryState(model, coordinatorOrdinal: coordinatorOrdinal))
  }

  package func reserveKeys(_ request: KeyReservation) throws(StoreError) -> Range<Int64> {
    try transactionThread.checkOutside(nil)
    return try writing.withLock { _ throws(StoreError) in
      try withState { state throws(StoreError) in try state.reserve(request) }
    }
  }

  package func save(_ request: StoreSaveRequest) throws(StoreError) -> StoreSaveResult {
    // Files are read before the lock is taken.
    let rows = try InMemoryRows(request, model: model)
    try transactionThread.checkOutside(nil)
    return try writing.withLock { _ throws(StoreError) in
      try withState { state throws(StoreError) in
        let conflicts = state.conflicts(of: rows) + state.missingDestinations(of: request.changes)
        if !conflicts.isEmpty { return StoreSaveResult(conflicts: conflicts) }
        let leading = state.leadingToDeleted(rows)
        if !leading.isEmpty { return StoreSaveResult(conflicts: leading) }
        let entries = try state.uniqueEntries(of: rows)
        var reserved: [Range<Int64>] = []
        for reservation in request.reservations { reserved.append(try state.reserve(reservation)) }
        let derived = try state.write(rows, entries)
        return StoreSaveResult(CommittedRows(request.changes), reserved: reserved, derived: derived)
      }
    }
  }

  /// Cost: a copy of each table that is written.
  package func transaction<Result: Sendable>(
    from origin: TransactionOrigin, _ body: (any StoreTransaction) throws -> Result
  ) throws -> Result {
    try transactionThread.checkOutside(nil)
    return try writing.withLock { _ in
      let state = try withState { state throws(StoreError) in state }
      let transaction = InMemoryTransaction(state, model: model)
      let result = try transactionThread.run { try body(transaction) }
      try withState { state throws(StoreError) in state = transaction.state }
      return result
    }
  }

  package func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result {
    try body(reader())
  }

  package func snapshot() throws -> (any StoreSnapshot)? { InMemorySnapshot(try reader()) }

  private func reader() throws(StoreError) -> InMemoryReader {
    let (tables, links) = try withState { state throws(StoreError) in (state.tables, state.links) }
    return InMemoryReader(tables: tables, links: links, model: model)
  }

  package func close(returning unused: [KeyBlock]) throws(StoreError) {
    state.withLock { $0.close() }
  }

  private func withState<Result: Sendable>(
    _ body: (inout InMemoryState) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try state.withLock { state throws(StoreError) in
      guard !state.isClosed else { throw StoreError(.noStore, "the store is closed") }
      return try body(&state)
    }
  }
}

extension PersistentStoreDescription {
  /// A store that lives as long as its coordinator, in memory.
  public static var inMemory: Self {
    Self { model, ordinal in InMemoryStore(model: model, coordinatorOrdinal: ordinal) }
  }
}

/// Reads and writes a copy of an in-memory store's state, which takes the state's place at the end.
final class InMemoryTransaction: ReadingTransaction {
  private(set) var state: InMemoryState
  private(set) var derived: [DerivedValue] = []
  private let model: ManagedObjectModel

  init(_ state: InMemoryState, model: ManagedObjectModel) {
    self.state = state
    self.model = model
  }

  var reader: InMemoryReader { InMemoryReader(tables: state.tables, links: state.links, model: model) }

  func reserveKeys(_ request: KeyReservation) throws(StoreError) -> Range<Int64> { try state.reserve(request) }

  func write(_ set: ChangeSet) throws(StoreError) -> [StoreConflict] {
    let rows = try InMemoryRows(StoreSaveRequest([set]), model: model)
    let conflicts = state.conflicts(of: rows)
    if !conflicts.isEmpty { return conflicts }
    derived += try state.write(rows, try state.uniqueEntries(of: rows))
    return []
  }
}
