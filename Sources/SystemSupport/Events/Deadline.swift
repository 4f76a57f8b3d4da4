package import Dispatch

/// A point in time after which waiting ends, on the clock that also counts while the machine is suspended.
package struct Deadline: Hashable, Sendable {
  /// Nil means never.
  package let instant: ContinuousClock.Instant?

  package static let never = Deadline(instant: nil)

  package static func at(_ instant: ContinuousClock.Instant) -> Deadline {
    Deadline(instant: instant)
  }

  package static func after(_ duration: Duration) -> Deadline {
    Deadline(instant: .now.advanced(by: duration))
  }

  /// The time left, never negative; nil means for ever.
  package var remaining: Duration? {
    instant.map { max(.zero, ContinuousClock.now.duration(to: $0)) }
  }

  package var hasPassed: Bool {
    instant.map { $0 <= .now } ?? false
  }

  /// The same moment for a Dispatch timer; `distantFuture` means never.
  package var dispatchTime: DispatchTime {
    guard let remaining else { return .distantFuture }
    return .now() + .nanoseconds(remaining.clampedNanoseconds)
  }

  /// Milliseconds for `poll`, rounded up so that it doesn't wake too early; -1 means for ever.
  var pollTimeout: Int32 {
    guard let remaining else { return -1 }
    let nanoseconds = remaining.clampedNanoseconds
    return Int32(clamping: nanoseconds / 1_000_000 + (nanoseconds % 1_000_000 == 0 ? 0 : 1))
  }
}

extension Duration {
  /// The whole duration in nanoseconds, at most what an `Int` holds (292 years).
  var clampedNanoseconds: Int {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    if overflow { return seconds < 0 ? .min : .max }
    let (sum, carry) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return Int(carry ? (seconds < 0 ? .min : .max) : sum)
  }
}
