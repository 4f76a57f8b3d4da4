import Synchronization

/// Counts the statements of all connections of a store.
final class StatementCounter: Sendable {
  let value = Atomic<Int>(0)
}
