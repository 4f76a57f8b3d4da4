/// The urgency of a message, with syslog's numbers.
package enum JournalPriority: Int, Comparable, Sendable {
  case emergency, alert, critical, error, warning, notice, info, debug

  /// More urgent is less.
  package static func < (left: JournalPriority, right: JournalPriority) -> Bool {
    left.rawValue < right.rawValue
  }
}
