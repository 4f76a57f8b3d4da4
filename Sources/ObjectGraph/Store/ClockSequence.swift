import Foundation
import Synchronization

/// Draws numbers that are greater than all drawn before, here or earlier elsewhere.
///
/// They are taken from the clock, in microseconds since 2001 with room for a thousand between two, so that nothing has to be
/// known of what is stored. A clock that is set back repeats no number of this sequence.
struct ClockSequence: ~Copyable, Sendable {
  private let last = Atomic<Int64>(0)

  /// Draws numbers that follow each other, each as far from the next as from one that is drawn alone; lock-free.
  ///
  /// - Returns: the first.
  func draw(_ count: Int) -> Int64 {
    let now = Int64(Date().timeIntervalSinceReferenceDate * 1e6) << 10
    var last = last.load(ordering: .relaxed)
    while true {
      let next = max(now, last + 1 << 10)
      let end = next + Int64(count - 1) << 10
      let (exchanged, original) = self.last.compareExchange(expected: last, desired: end, ordering: .relaxed)
      if exchanged { return next }
      last = original
    }
  }
}
