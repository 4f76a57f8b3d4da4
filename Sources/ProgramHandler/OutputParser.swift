import Glibc
import JSONText
import SystemSupport

/// Tells messages from other text in a program's standard output; the rules are in Documentation/ProcessHandlers.md.
///
/// A value that is fed bytes in pieces of any size. It buffers one message at most.
struct OutputParser {
  /// A piece of the output.
  enum Item: Equatable {
    /// A message, with its line from 1 and the bytes of that line.
    case message(OutputMessage, line: Int, byteCount: Int)
    /// Any other output, line breaks included.
    case text([UInt8])
  }

  private enum Place {
    /// At the beginning of a line, or behind blanks there.
    case start
    /// In a line that is not a message.
    case text
    /// In a line that may be a message: its bytes so far.
    case object([UInt8])
  }

  private let lineLimit: Int
  private var line = 1
  private var place = Place.start

  /// - Parameter lineLimit: the longest message, in bytes.
  init(lineLimit: Int) { self.lineLimit = lineLimit }

  /// Reads more of the output.
  ///
  /// - Throws: ``OutputError`` about the first line that is wrong, which is emitted as text; nothing may be read after it.
  mutating func read(_ bytes: [UInt8], _ emit: (Item) -> Void) throws(OutputError) {
    var rest = bytes[...]
    // Neighbouring lines of text are passed on together.
    var textStart = rest.startIndex
    func emitText(until end: Int) {
      if end > textStart { emit(.text(Array(bytes[textStart..<end]))) }
    }
    while !rest.isEmpty {
      if case .start = place {
        rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        guard let first = rest.first else { break }
        if first == UInt8(ascii: "{") {
          emitText(until: rest.startIndex)
          place = .object([])
        } else {
          place = .text
        }
      }
      let end = Self.lineFeed(in: rest)
      if case .object(let begun) = place {
        try readObject(begun + rest[..<(end ?? rest.endIndex)], isEnded: end != nil, emit)
        textStart = end.map { $0 + 1 } ?? rest.endIndex
      }
      guard let end else { break }
      line += 1
      place = .start
      rest = rest[(end + 1)...]
    }
    emitText(until: bytes.endIndex)
  }

  /// Reads the last line, which need not have ended with a line feed.
  mutating func finish(_ emit: (Item) -> Void) throws(OutputError) {
    if case .object(let bytes) = place { try emitLine(bytes, isEnded: false, emit) }
    place = .text
  }

  /// Reads what there is so far of a line that begins like an object.
  private mutating func readObject(
    _ bytes: [UInt8], isEnded: Bool, _ emit: (Item) -> Void
  ) throws(OutputError) {
    if isEnded {
      try emitLine(bytes, isEnded: true, emit)
    } else if bytes.count <= lineLimit {
      place = .object(bytes)
    } else {
      emit(.text(bytes))
      place = .text
      try refuseMessage(bytes)
    }
  }

  private func emitLine(_ bytes: [UInt8], isEnded: Bool, _ emit: (Item) -> Void) throws(OutputError) {
    let text = Item.text(isEnded ? bytes + [UInt8(ascii: "\n")] : bytes)
    let messages: [OutputMessage]
    do throws(OutputError) {
      if bytes.count > lineLimit { try refuseMessage(bytes) }
      messages = bytes.count > lineLimit ? [] : try self.messages(bytes)
    } catch {
      emit(text)
      throw error
    }
    if messages.isEmpty { emit(text) }
    for (index, message) in messages.enumerated() {
      emit(.message(message, line: line, byteCount: index == 0 ? bytes.count : 0))
    }
  }

  private func messages(_ bytes: [UInt8]) throws(OutputError) -> [OutputMessage] {
    let value: JSONValue
    do throws(JSONError) {
      value = try JSONValue(parsing: bytes)
    } catch {
      if beginsLikeMessage(bytes) {
        throw OutputError(line: line, message: "it begins like a message, but is not JSON: \(error.message)")
      }
      return []
    }
    guard let object = value.object else { return [] }
    do throws(OutputMessage.Problem) {
      return try OutputMessage.read(object)
    } catch {
      throw OutputError(line: line, message: error.message)
    }
  }

  private func refuseMessage(_ bytes: [UInt8]) throws(OutputError) {
    guard beginsLikeMessage(bytes) else { return }
    throw OutputError(
      line: line, message: "the message is longer than \(lineLimit) bytes; see OutputLineMax, or write several")
  }

  /// True if the first key is one of a message's, however the line continues: it must not be treated as text then.
  private func beginsLikeMessage(_ bytes: [UInt8]) -> Bool {
    let blanks: Set<UInt8> = [0x20, 0x09, 0x0d]
    let key = bytes.dropFirst().drop { blanks.contains($0) }
    guard key.first == UInt8(ascii: "\"") else { return false }
    return OutputMessage.keys.contains { key.dropFirst().starts(with: Array("\($0)\"".utf8)) }
  }

  private static func lineFeed(in bytes: ArraySlice<UInt8>) -> Int? {
    bytes.withUnsafeBytes { buffer in
      guard let base = buffer.baseAddress, let found = memchr(base, 0x0a, buffer.count) else { return nil }
      return bytes.startIndex + (UnsafeRawPointer(found) - base)
    }
  }
}
