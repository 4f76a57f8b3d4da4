import Synchronization

/// How many saves have changed what is stored, as far as a coordinator knows; from 1, so that 0 is free for "unknown".
final class SaveCount: Sendable {
  private let number = Atomic(1)

  var current: Int { number.load(ordering: .acquiring) }

  func increment() { number.wrappingAdd(1, ordering: .acquiringAndReleasing) }
}
