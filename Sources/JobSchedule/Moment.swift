package import Foundation
import Glibc

/// One point in time on both clocks, in milliseconds.
package struct Moment: Sendable, Equatable {
  /// On a clock that can't be set, for delays and limits.
  package let steady: Int64
  /// Since 1970, on the clock that an operator may set, for moments that a job file names.
  package let wall: Int64

  package init(steady: Int64, wall: Int64) {
    self.steady = steady
    self.wall = wall
  }

  package static func now() -> Moment { Moment(steady: read(CLOCK_BOOTTIME), wall: read(CLOCK_REALTIME)) }

  private static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    // Can't fail for these clocks.
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }
}

extension Duration {
  /// Rounded up, so that no wait for it ends too early.
  package var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
  }
}

extension Date {
  /// Milliseconds since 1970, rounded up, and clamped to what a clock can show.
  package var milliseconds: Int64 {
    Int64(exactly: min(max((timeIntervalSince1970 * 1000).rounded(.up), -1e15), 1e15)) ?? .max
  }
}
