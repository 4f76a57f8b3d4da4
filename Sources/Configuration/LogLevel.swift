/// The importance of a log line, with syslog's names, from the most important to the least.
package enum LogLevel: String, Sendable, CaseIterable {
  case error, warning, notice, info, debug

  /// The priority that syslog and the journal give to this level; a smaller number is more important.
  package var priority: Int {
    switch self {
    case .error: 3
    case .warning: 4
    case .notice: 5
    case .info: 6
    case .debug: 7
    }
  }
}
