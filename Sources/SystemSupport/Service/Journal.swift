import CLinux
import CSystemd
import Glibc
import Synchronization

/// The log: structured entries when standard error leads to the systemd journal, otherwise a line each.
///
/// Logging never throws; messages that can't be written are counted. Lines never wait for a reader; an entry waits only
/// if the journal itself has stopped reading.
package final class Journal: Sendable {
  package enum Format: Sendable {
    /// Entries with fields, by the journal's own protocol.
    case structured
    /// `<N>message (KEY=value)`, as sd-daemon(3) reads from a pipe.
    case prefixed
    /// `identifier: message`, which says by itself what the fields say.
    case human
    /// The same after the local time, for what runs on: `2026-11-23T14:06:41.123+01:00 identifier: message`.
    case timed
  }

  /// Longer lines are cut: a pipe takes this much whole and without waiting once it is ready.
  private static let maximumLineLength = 4096

  package let format: Format
  private let identifier: String
  private let output: Int32
  private let dropped = Atomic<Int>(0)
  /// Keeps readiness check and write together.
  private let line = Mutex<Void>(())

  /// - Parameters:
  ///   - identifier: The program's name.
  ///   - format: The form of lines; if nil, `structured` when standard error leads to the journal, else `human`.
  ///   - output: The descriptor lines go to; must stay open.
  package init(identifier: String, format: Format? = nil, output: Int32 = STDERR_FILENO) {
    self.identifier = identifier
    self.format = format ?? (Self.isJournal(output, stream: Self.journalStream()) ? .structured : .human)
    self.output = output
  }

  /// The number of messages that could not be written.
  package var droppedCount: Int { dropped.load(ordering: .relaxed) }

  /// Logs one message; control characters and line breaks in it are escaped.
  ///
  /// - Parameters:
  ///   - message: For people.
  ///   - fields: Names in capitals, digits and underscores, such as `JOB_ID`.
  package func log(_ priority: JournalPriority, _ message: String, fields: [(String, String)] = []) {
    let isWritten =
      switch format {
      case .structured: send(priority, message, fields: fields)
      case .prefixed: write("<\(priority.rawValue)>" + Self.text(message, fields))
      case .human: write("\(identifier): " + singleLine(message))
      case .timed: write("\(Self.localTime()) \(identifier): " + singleLine(message))
      }
    if !isWritten { dropped.add(1, ordering: .relaxed) }
  }

  /// True if a descriptor is the one that `JOURNAL_STREAM` (device:inode) describes; it may have been redirected since.
  package static func isJournal(_ descriptor: Int32, stream: String?) -> Bool {
    var status = stat()
    guard let stream, fstat(descriptor, &status) == 0 else { return false }
    return stream == "\(status.st_dev):\(status.st_ino)"
  }

  /// A journal for what runs on, whose lines have times unless standard error leads to the journal, which has its own.
  package static func ofService(identifier: String) -> Journal {
    let isJournal = isJournal(STDERR_FILENO, stream: journalStream())
    return Journal(identifier: identifier, format: isJournal ? .structured : .timed)
  }

  private static func journalStream() -> String? {
    getenv("JOURNAL_STREAM").map { String(cString: $0) }
  }

  private static func text(_ message: String, _ fields: [(String, String)]) -> String {
    let suffix = fields.map { "\($0.0)=\(singleLine($0.1))" }.joined(separator: " ")
    return singleLine(message) + (suffix.isEmpty ? "" : " (\(suffix))")
  }

  /// This moment by ISO 8601, in local time with its offset.
  private static func localTime() -> String {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    var fields = tm()
    localtime_r(&now.tv_sec, &fields)
    // Foundation's formatters would load the whole of ICU for each program that logs.
    var buffer = [CChar](repeating: 0, count: 64)
    let count = strftime(&buffer, buffer.count, "%Y-%m-%dT%H:%M:%S%z", &fields)
    let text = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let milliseconds = "\(1000 + now.tv_nsec / 1_000_000)".dropFirst()
    // The offset comes as +0100.
    return "\(text.dropLast(5)).\(milliseconds)\(text.suffix(5).prefix(3)):\(text.suffix(2))"
  }

  private func write(_ text: String) -> Bool {
    var bytes = Array(text.utf8.prefix(Self.maximumLineLength - 1))
    // Don't cut through a character.
    while bytes.count < text.utf8.count, let last = bytes.last, last & 0x80 != 0 {
      bytes.removeLast()
      if last & 0xc0 == 0xc0 { break }
    }
    bytes.append(UInt8(ascii: "\n"))
    return line.withLock { _ in
      var request = pollfd(fd: output, events: Int16(POLLOUT), revents: 0)
      guard (try? systemCall("poll") { poll(&request, 1, 0) }) == 1, request.revents & Int16(POLLOUT) != 0 else {
        return false
      }
      return (try? systemCall("write") { Glibc.write(output, bytes, bytes.count) }) == bytes.count
    }
  }

  private func send(_ priority: JournalPriority, _ message: String, fields: [(String, String)]) -> Bool {
    let entries =
      [
        "MESSAGE=\(singleLine(message))", "PRIORITY=\(priority.rawValue)", "SYSLOG_IDENTIFIER=\(identifier)",
      ] + fields.map { "\($0.0)=\(singleLine($0.1))" }
    // The fields lie one behind the other in one buffer, so that one address is enough.
    var bytes = entries.flatMap { Array($0.utf8) }
    return bytes.withUnsafeMutableBytes { buffer in
      var offset = 0
      let vectors = entries.map { entry in
        defer { offset += entry.utf8.count }
        return iovec(iov_base: buffer.baseAddress?.advanced(by: offset), iov_len: entry.utf8.count)
      }
      return sd_journal_sendv(vectors, Int32(vectors.count)) == 0
    }
  }
}

/// The urgency of a message, with syslog's numbers.
package enum JournalPriority: Int, Comparable, Sendable {
  case emergency, alert, critical, error, warning, notice, info, debug

  /// More urgent is less.
  package static func < (left: JournalPriority, right: JournalPriority) -> Bool {
    left.rawValue < right.rawValue
  }
}
