import Synchronization

/// How many clients wait for jobs: some connections are left for those who would let the jobs go on.
final class WaitingClients: Sendable {
  private let count = Atomic(0)

  /// - Parameter connections: how many there may be in all.
  func isFull(of connections: Int) -> Bool { count.load(ordering: .relaxed) >= max(1, connections * 3 / 4) }

  func enter() { count.wrappingAdd(1, ordering: .relaxed) }
  func leave() { count.wrappingSubtract(1, ordering: .relaxed) }
}
