import Foundation
import Synchronization

/// Comparisons of texts as bytes of UTF-8; both back ends call this very code.
package enum TextSearch {
  package static func hasPrefix(_ text: UnsafeRawBufferPointer, _ prefix: UnsafeRawBufferPointer) -> Bool {
    text.count >= prefix.count && text.prefix(prefix.count).elementsEqual(prefix)
  }

  package static func hasSuffix(_ text: UnsafeRawBufferPointer, _ suffix: UnsafeRawBufferPointer) -> Bool {
    text.count >= suffix.count && text.suffix(suffix.count).elementsEqual(suffix)
  }

  /// True if the part occurs in the text; an empty part occurs in every text.
  package static func contains(_ text: UnsafeRawBufferPointer, _ part: UnsafeRawBufferPointer) -> Bool {
    guard let first = part.first else { return true }
    guard text.count >= part.count else { return false }
    for start in 0...(text.count - part.count) where text[start] == first {
      if UnsafeRawBufferPointer(rebasing: text[start..<(start + part.count)]).elementsEqual(part) { return true }
    }
    return false
  }

  /// True if the whole text is like the pattern: `?` stands for one Unicode scalar, `*` for any number of them, and a
  /// backslash takes its meaning from the character after it.
  ///
  /// Time: at most the product of both lengths.
  package static func isLike(_ text: UnsafeRawBufferPointer, _ pattern: UnsafeRawBufferPointer) -> Bool {
    var position = 0
    var token = 0
    // Where to go on if the rest does not match: after the last `*`, one scalar further in the text.
    var retry: (position: Int, token: Int)?
    while true {
      if token < pattern.count, pattern[token] == UInt8(ascii: "*") {
        token += 1
        retry = (position, token)
        continue
      }
      if position == text.count && token == pattern.count { return true }
      if position < text.count, let next = step(text, position, pattern: pattern, token: token) {
        (position, token) = next
        continue
      }
      guard let last = retry, last.position < text.count else { return false }
      position = scalarEnd(text, last.position)
      token = last.token
      retry = (position, token)
    }
  }

  /// The positions after one element of the pattern that is not `*`, or nil if it does not match.
  private static func step(
    _ text: UnsafeRawBufferPointer, _ position: Int, pattern: UnsafeRawBufferPointer, token: Int
  ) -> (Int, Int)? {
    guard token < pattern.count else { return nil }
    var byte = pattern[token]
    if byte == UInt8(ascii: "?") { return (scalarEnd(text, position), token + 1) }
    var next = token + 1
    if byte == UInt8(ascii: "\\"), next < pattern.count {
      byte = pattern[next]
      next += 1
    }
    return text[position] == byte ? (position + 1, next) : nil
  }

  private static func scalarEnd(_ text: UnsafeRawBufferPointer, _ start: Int) -> Int {
    var end = start + 1
    while end < text.count, text[end] & 0xC0 == 0x80 { end += 1 }
    return end
  }
}

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
