import Jobs
import Synchronization

/// The log of an attempt, to which two pipes are written at once.
final class AttemptLog: Sendable {
  private let captured: Mutex<CapturedLog>

  init(limit: Int) { captured = Mutex(CapturedLog(limit: limit)) }

  var text: String { captured.withLock { $0 }.text }
  var lastLines: [String] { captured.withLock { $0 }.lastLines() }

  func append(_ bytes: [UInt8]) { captured.withLock { $0.append(bytes) } }
}
