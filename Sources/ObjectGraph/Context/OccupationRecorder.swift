import Synchronization

/// A histogram of the durations for which an executor was occupied, with percentiles.
///
/// Durations are counted in buckets that grow by an eighth of a power of two, so a percentile is right within 13 %.
public final class OccupationRecorder: Sendable {
  private struct State {
    var counts = [UInt64](repeating: 0, count: 64 * 8)
    var total: UInt64 = 0
    var nanoseconds: UInt64 = 0
    var longest: UInt64 = 0
  }

  private let state = Mutex(State())

  /// Makes an empty recorder.
  public init() {}

  /// Counts one occupation, in nanoseconds.
  func record(_ nanoseconds: UInt64) {
    let value = max(nanoseconds, 8)
    let exponent = 63 - value.leadingZeroBitCount
    let eighth = Int(value >> UInt64(exponent - 3)) & 7
    state.withLock { state in
      state.counts[exponent * 8 + eighth] += 1
      state.total += 1
      state.nanoseconds += nanoseconds
      state.longest = max(state.longest, nanoseconds)
    }
  }

  /// The number of occupations.
  public var count: UInt64 { state.withLock { $0.total } }

  /// The time for which the executor was occupied in all, in seconds.
  public var total: Double { Double(state.withLock { $0.nanoseconds }) / 1e9 }

  /// The longest occupation, in seconds.
  public var longest: Double { Double(state.withLock { $0.longest }) / 1e9 }

  /// Returns the duration in seconds that a share of the occupations did not exceed; 0 if there were none.
  public func percentile(_ share: Double) -> Double {
    state.withLock { state in
      let rank = UInt64((share * Double(state.total)).rounded(.up))
      var seen: UInt64 = 0
      for (bucket, count) in state.counts.enumerated() where count > 0 {
        seen += count
        if seen >= rank {
          let upper = (Double(bucket % 8) + 9) / 8 * Double(UInt64(1) << UInt64(bucket / 8))
          return min(upper, Double(state.longest)) / 1e9
        }
      }
      return 0
    }
  }

  /// Drops all counts.
  public func reset() { state.withLock { $0 = State() } }
}
