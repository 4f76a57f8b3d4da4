import Glibc
import Synchronization

/// The thread that runs a transaction of a store, so that what it calls is refused and does not wait for itself.
package struct TransactionThread: ~Copyable, Sendable {
  private let thread = Atomic<UInt>(0)

  package init() {}

  /// Runs the body of a transaction on the calling thread.
  package borrowing func run<Result>(_ body: () throws -> Result) rethrows -> Result {
    thread.store(pthread_self(), ordering: .relaxed)
    defer { thread.store(0, ordering: .relaxed) }
    return try body()
  }

  /// - Throws: ``StoreError/Code/busy`` if the caller is called by the body of a transaction.
  package borrowing func checkOutside(_ path: String?) throws(StoreError) {
    if thread.load(ordering: .relaxed) != pthread_self() { return }
    throw StoreError(
      .busy,
      "a batch request is under way on this thread: insert no objects, save nothing and run no other request in the "
        + "closure that gives its rows", path: path)
  }
}
