import Synchronization

/// The coordinators of this process by ordinal, so that an ID can be asked of what it stands for.
enum CoordinatorRegistry {
  private struct State {
    var next: UInt32 = 1
    var coordinators: [UInt32: Weak] = [:]
  }

  private struct Weak: Sendable {
    weak var coordinator: PersistentStoreCoordinator?
  }

  private static let state = Mutex(State())

  static func nextOrdinal() -> UInt32 {
    state.withLock { state in
      defer { state.next += 1 }
      return state.next
    }
  }

  static func register(_ coordinator: PersistentStoreCoordinator) {
    state.withLock { $0.coordinators[coordinator.ordinal] = Weak(coordinator: coordinator) }
  }

  static func unregister(_ ordinal: UInt32) {
    state.withLock { $0.coordinators[ordinal] = nil }
  }

  static func coordinator(_ ordinal: UInt32) -> PersistentStoreCoordinator? {
    state.withLock { $0.coordinators[ordinal]?.coordinator }
  }
}
