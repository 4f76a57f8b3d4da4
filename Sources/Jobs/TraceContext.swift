/// The place of a job in a trace of several programs, as <https://www.w3.org/TR/trace-context/> writes it.
public struct TraceContext: Sendable, Hashable {
  /// The `traceparent`: version, trace, the span that has submitted the job, and flags.
  public let parent: String
  /// The `tracestate`, which tracing systems keep for themselves.
  public let state: String?

  /// Takes a context over; nil if the parent is not valid. A state that isn't valid is left out, as the standard says.
  public init?(parent: String, state: String? = nil) {
    guard Self.isParent(parent) else { return nil }
    self.parent = parent
    self.state = state.flatMap { Self.isState($0) ? $0 : nil }
  }

  static let example = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
  /// Whoever follows the standard keeps that much.
  private static let stateLimit = 512
  private static let memberLimit = 32

  /// True for a `traceparent` of version 00, or of a later one, of which the beginning is known and more may follow.
  private static func isParent(_ text: String) -> Bool {
    let fields = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard fields.count >= 4, text.utf8.count <= 200, zip(fields, [2, 32, 16, 2]).allSatisfy({ $0.count == $1 }),
      fields.prefix(4).allSatisfy({ $0.allSatisfy(isDigit) }), !fields[0].elementsEqual("ff".utf8)
    else { return false }
    let isZero = fields[1...2].contains { $0.allSatisfy { $0 == UInt8(ascii: "0") } }
    let isFirstVersion = fields[0].elementsEqual("00".utf8)
    return !isZero && (fields.count == 4 || !isFirstVersion) && text.utf8.allSatisfy { 0x21...0x7e ~= $0 }
  }

  /// True for a list of members `key=value`, which may be empty.
  static func isState(_ text: String) -> Bool {
    guard text.utf8.count <= stateLimit else { return false }
    let members = text.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
      .map { String(decoding: $0.trimmed, as: UTF8.self) }.filter { !$0.isEmpty }
    // The tenant and system of keys with an @ are not told apart further.
    let member = /[a-z0-9][a-z0-9_\-*\/@]{0,255}=[ -+\--<>-~]{0,255}[!-+\--<>-~]/
    return members.count <= memberLimit && members.allSatisfy { $0.wholeMatch(of: member) != nil }
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte
  }
}

extension Substring.UTF8View {
  /// Without the blanks around it.
  fileprivate var trimmed: Substring.UTF8View {
    var rest = self
    while let first = rest.first, first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") { rest.removeFirst() }
    while let last = rest.last, last == UInt8(ascii: " ") || last == UInt8(ascii: "\t") { rest.removeLast() }
    return rest
  }
}
