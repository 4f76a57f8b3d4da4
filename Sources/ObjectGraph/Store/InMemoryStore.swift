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
  private let derived: [DerivedAttribute]

  package init(model: ManagedObjectModel, coordinatorOrdinal: UInt32) {
    self.model = model
    self.coordinatorOrdinal = coordinatorOrdinal
    state = Mutex(InMemoryState(model))
    derived = DerivedAttribute.all(model)
  }

  package func reserveKeys(_ request: KeyReservation) throws(StoreError) -> Range<Int64> {
    try withState { state throws(StoreError) in try state.reserve(request) }
  }

  package func save(_ request: StoreSaveRequest) throws(StoreError) -> StoreSaveResult {
    // Files are read before the lock is taken.
    let rows = try InMemoryRows(request, model: model)
    return try withState { state throws(StoreError) in
      let conflicts = state.conflicts(of: rows)
      if !conflicts.isEmpty { return StoreSaveResult(conflicts: conflicts) }
      let entries = try state.uniqueEntries(of: rows)
      var result = StoreSaveResult()
      for reservation in request.reservations { result.reserved.append(try state.reserve(reservation)) }
      var changes = ChangedKeys(derived.isEmpty ? [] : request.changes)
      let before = try derived.map { attribute throws(StoreError) in try state.affected(attribute, by: changes) }
      state.write(rows, entries)
      rows.stamp(request)
      for (attribute, keys) in zip(derived, before) {
        let values = try state.compute(
          attribute, of: keys.union(try state.affected(attribute, by: changes)), now: Date(),
          coordinatorOrdinal: coordinatorOrdinal)
        if attribute.operation != .now { changes.add(values) }
        result.derived += values
      }
      return result
    }
  }

  package func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result {
    let (tables, links) = try withState { state throws(StoreError) in (state.tables, state.links) }
    return try body(InMemoryReader(tables: tables, links: links, model: model))
  }

  package func close(returning unused: [KeyBlock]) throws(StoreError) {
    state.withLock { state in
      state.isClosed = true
      state.tables = []
      state.links = []
    }
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
