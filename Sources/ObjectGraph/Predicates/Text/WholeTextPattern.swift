import Foundation
import Synchronization

/// A regular expression of ICU that a whole text must match.
///
/// A pattern can take time exponential in the length of the text, so take patterns from trusted people only.
package struct WholeTextPattern: @unchecked Sendable {
  // @unchecked: NSRegularExpression is immutable and documented as safe to use from several threads.
  private let expression: NSRegularExpression
  private let options: Condition.TextOptions

  /// Reads a pattern; nil if it can't be read.
  private init?(_ pattern: String, _ options: Condition.TextOptions) {
    self.options = options
    let mark: Condition.TextOptions = .diacriticInsensitive
    let pattern = options.contains(mark) ? TextFolding.fold(pattern, mark) : pattern
    let flags: NSRegularExpression.Options = options.contains(.caseInsensitive) ? .caseInsensitive : []
    // Alone first: a pattern such as `a)(b` must not become valid by the parentheses around it.
    // The empty pattern, which Foundation refuses, is an exception.
    guard pattern.isEmpty || (try? NSRegularExpression(pattern: pattern, options: flags)) != nil,
      let expression = try? NSRegularExpression(pattern: "\\A(?:\(pattern))\\z", options: flags)
    else { return nil }
    self.expression = expression
  }

  package func matches(_ text: UnsafeRawBufferPointer) -> Bool {
    var string = String(decoding: text, as: UTF8.self)
    if options.contains(.diacriticInsensitive) { string = TextFolding.fold(string, .diacriticInsensitive) }
    return expression.firstMatch(in: string, range: NSRange(location: 0, length: string.utf16.count)) != nil
  }

  private struct Key: Hashable {
    let pattern: String
    let options: UInt8
  }

  private static let cache = Mutex<[Key: WholeTextPattern]>([:])

  /// The pattern, read once and then remembered; nil if it can't be read.
  package static func cached(_ pattern: String, _ options: Condition.TextOptions) -> WholeTextPattern? {
    let key = Key(pattern: pattern, options: options.rawValue)
    if let known = cache.withLock({ $0[key] }) { return known }
    guard let read = WholeTextPattern(pattern, options) else { return nil }
    cache.withLock {
      if $0.count >= 64 { $0.removeAll() }
      $0[key] = read
    }
    return read
  }
}
