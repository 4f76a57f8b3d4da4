import Foundation
import ObjectGraph
import ObjectModel
import Synchronization

/// A store in memory whose saves fail as a test wishes.
final class FailingStore: PersistentStore {
  private let store: InMemoryStore
  private let failures = Mutex<[StoreError?]>([])
  private let readFailures = Mutex<[StoreError]>([])
  private let count = Mutex(0)
  private let beforeSaves = Mutex<[@Sendable () -> Void]>([])

  init(model: ManagedObjectModel, ordinal: UInt32) {
    store = InMemoryStore(model: model, coordinatorOrdinal: ordinal)
  }

  /// The errors of the next saves, in order; nil lets one succeed.
  func fail(with errors: StoreError?...) { failures.withLock { $0 = errors } }

  /// The errors of the next reads, in order.
  func failReads(with errors: [StoreError]) { readFailures.withLock { $0 = errors } }

  /// Calls back before each of the next saves, on the writer's executor.
  func beforeSaves(_ calls: (@Sendable () -> Void)...) { beforeSaves.withLock { $0 = calls } }

  /// How many saves succeeded.
  var saveCount: Int { count.withLock { $0 } }

  var identifier: UUID { store.identifier }
  var path: String? { nil }
  var stagingDirectory: String? { nil }

  func reserveKeys(_ request: KeyReservation) throws(StoreError) -> Range<Int64> { try store.reserveKeys(request) }

  func save(_ request: StoreSaveRequest) throws(StoreError) -> StoreSaveResult {
    beforeSaves.withLock { $0.isEmpty ? nil : $0.removeFirst() }?()
    if let error = failures.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { throw error }
    count.withLock { $0 += 1 }
    return try store.save(request)
  }

  func transaction<Result: Sendable>(
    from origin: TransactionOrigin, _ body: (any StoreTransaction) throws -> Result
  ) throws -> Result { try store.transaction(from: origin, body) }

  func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result {
    if let error = readFailures.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { throw error }
    return try store.read(body)
  }

  func close(returning unused: [KeyBlock]) throws(StoreError) { try store.close(returning: unused) }
}
