/// What an attempt wrote, within a limit: its first and its last messages are kept, and how many are missing in between.
struct AttemptLogText: Sendable {
  /// In bytes, of the first messages as of the last.
  static let halfLimit = 32 * 1024

  private var head = ""
  private var tail: [String] = []
  /// Where the kept messages of `tail` begin; those before it are removed now and then.
  private var tailStart = 0
  private var tailByteCount = 0
  private var leftOut = 0

  init(_ text: String? = nil) { head = text ?? "" }

  mutating func append(_ message: String) {
    let line = Self.cut(message) + "\n"
    let byteCount = line.utf8.count
    if tail.isEmpty && head.utf8.count + byteCount <= Self.halfLimit { return head += line }
    tail.append(line)
    tailByteCount += byteCount
    while tailByteCount > Self.halfLimit {
      tailByteCount -= tail[tailStart].utf8.count
      tail[tailStart] = ""
      tailStart += 1
      leftOut += 1
    }
    if tailStart > 1024 && tailStart > tail.count / 2 {
      tail.removeFirst(tailStart)
      tailStart = 0
    }
  }

  /// Everything that is kept; nil if nothing was written.
  var text: String? {
    if head.isEmpty && tail.isEmpty { return nil }
    let gap = leftOut > 0 ? "[... \(leftOut) messages are left out here ...]\n" : ""
    return head + gap + tail[tailStart...].joined()
  }

  /// One message takes a quarter of the space at most.
  private static func cut(_ message: String) -> String {
    let limit = halfLimit / 2
    guard message.utf8.count > limit else { return message }
    return String(decoding: message.utf8.prefix(limit), as: UTF8.self) + " [cut]"
  }
}
