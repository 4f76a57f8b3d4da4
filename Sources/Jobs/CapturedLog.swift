/// The log of an attempt, within a limit: its beginning and its end are kept, and how much is missing in between.
package struct CapturedLog: Sendable {
  private let headLimit: Int
  private let tailLimit: Int
  private var head: [UInt8] = []
  /// The last bytes, and up to as many again before them.
  private var tail: [UInt8] = []
  package private(set) var byteCount = 0

  /// - Parameter limit: the number of bytes that are kept.
  package init(limit: Int) {
    headLimit = limit / 2
    tailLimit = limit - headLimit
  }

  package mutating func append(_ bytes: some RandomAccessCollection<UInt8>) {
    byteCount += bytes.count
    let forHead = min(bytes.count, headLimit - head.count)
    head.append(contentsOf: bytes.prefix(forHead))
    let rest = bytes.dropFirst(forHead)
    if rest.count >= tailLimit {
      tail = Array(rest.suffix(tailLimit))
    } else {
      tail.append(contentsOf: rest)
      if tail.count > 2 * tailLimit { tail.removeFirst(tail.count - tailLimit) }
    }
  }

  /// The log as text: valid UTF-8 as it came, control characters included; other bytes as `\xHH`.
  package var text: String {
    let kept = tail.suffix(tailLimit)
    let missing = byteCount - head.count - kept.count
    if missing == 0 { return Self.decoded(head + kept) }
    return Self.decoded(head) + "\n[... \(missing) bytes are left out here ...]\n" + Self.decoded(Array(kept))
  }

  /// Returns the last lines that aren't blank, at most `count`, and each cut to a length.
  package func lastLines(_ count: Int = 3, length: Int = 200) -> [String] {
    // A line may be as long as the log; no more than its last bytes is asked for.
    let end = (head + tail).suffix(count * length * 4)
    let lines = Self.decoded(Array(end)).split(whereSeparator: \.isNewline).filter { !$0.allSatisfy(\.isWhitespace) }
    return lines.suffix(count).map { $0.count > length ? "..." + $0.suffix(length) : String($0) }
  }

  private static func decoded(_ bytes: [UInt8]) -> String {
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    var result = ""
    var decoder = UTF8()
    var rest = bytes[...]
    var iterator = rest.makeIterator()
    while true {
      switch decoder.decode(&iterator) {
      case .scalarValue(let scalar):
        result.unicodeScalars.append(scalar)
        rest.removeFirst(UTF8.width(scalar))
      case .emptyInput: return result
      case .error:
        // How many bytes an error consumes is the decoder's choice, so what follows is decoded afresh.
        let digits = String(rest.removeFirst(), radix: 16)
        result += "\\x" + (digits.count == 1 ? "0" : "") + digits
        decoder = UTF8()
        iterator = rest.makeIterator()
      }
    }
  }
}
