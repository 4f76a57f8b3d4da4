/// A job's state, open to names of newer daemons.
struct JobState: RawRepresentable, Hashable, Decodable {
  let rawValue: String

  static let waiting = Self(rawValue: "waiting")
  static let held = Self(rawValue: "held")
  static let running = Self(rawValue: "running")
  static let retryable = Self(rawValue: "retryable")
  static let completed = Self(rawValue: "completed")
  static let cancelled = Self(rawValue: "cancelled")
  static let discarded = Self(rawValue: "discarded")
  static let quarantined = Self(rawValue: "quarantined")

  /// True if the state is final.
  var isFinal: Bool { self == .completed || isFailure }

  var isFailure: Bool { [.cancelled, .discarded, .quarantined].contains(self) }
}
