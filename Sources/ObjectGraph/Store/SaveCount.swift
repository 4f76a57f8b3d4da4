import Synchronization

/// The number of saves that changed the store, as far as a coordinator knows; from 1, so that 0 can mean "unknown".
final class SaveCount: Sendable {
  private let number = Atomic(1)

  var current: Int { number.load(ordering: .acquiring) }

  func increment() { number.wrappingAdd(1, ordering: .acquiringAndReleasing) }
}
