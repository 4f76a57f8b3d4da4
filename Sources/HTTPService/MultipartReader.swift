import Foundation

/// Reads a body of `multipart/form-data` (RFC 7578, RFC 2046 section 5.1) as it comes, in pieces of any size.
///
/// A value without I/O: parts and their bytes go out through a closure. It keeps a few kilobytes at most. libmicrohttpd has a
/// reader of its own, which knows no limits and stops at the first form that it does not expect.
package struct MultipartReader {
  package enum Event {
    /// A part begins, with its name in the form.
    case begin(name: String)
    /// Bytes of the part, valid during the call.
    case bytes(UnsafeRawBufferPointer)
    case end
  }

  private enum State {
    /// Before the first boundary. Next: boundary.
    case preamble
    /// Behind a boundary. Next: header, epilogue.
    case boundary
    /// Next: body.
    case header
    /// Next: boundary.
    case body
    /// Behind the last boundary.
    case epilogue
  }

  /// The most parts of a body, and bytes of the header of one.
  package static let mostParts = 64, longestHeader = 4 << 10
  /// The blanks that may follow a boundary.
  private static let mostPadding = 64
  private static let lineEnd: [UInt8] = [0x0D, 0x0A]
  private static let headerEnd: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A]

  /// A boundary with the line end before it, which is not the part's.
  private let delimiter: [UInt8]
  private var state = State.preamble
  /// Bytes that are not decided on, after a line end that the first boundary may lack.
  private var rest = Self.lineEnd
  private var parts = 0

  /// - Parameter contentType: the value of the header field; nil if it is no form, or has no boundary that is allowed.
  package init?(contentType: String) {
    let fields = Self.parameters(of: contentType)
    guard fields.value == "multipart/form-data", let boundary = fields.parameters["boundary"] else { return nil }
    let isAllowed = boundary.utf8.allSatisfy { 0x20...0x7E ~= $0 } && !boundary.hasSuffix(" ")
    guard isAllowed, 1...70 ~= boundary.utf8.count else { return nil }
    delimiter = Self.lineEnd + "--\(boundary)".utf8
  }

  /// Takes the next bytes.
  ///
  /// - Throws: ``MultipartError`` if they are no form; then nothing more is to be read.
  package mutating func read(
    _ bytes: UnsafeRawBufferPointer, _ body: (Event) throws -> Void
  ) throws {
    rest += bytes
    while try step(body) {}
  }

  /// Checks that the last boundary was there.
  package func finish() throws(MultipartError) {
    guard case .epilogue = state else { throw MultipartError("the form ends before its last boundary") }
    if parts == 0 { throw MultipartError("the form has no parts") }
  }

  /// Reads on as far as it is known; false if more bytes are needed for that.
  private mutating func step(_ body: (Event) throws -> Void) throws -> Bool {
    switch state {
    case .preamble, .body:
      let isBody = if case .body = state { true } else { false }
      let end = Self.find(delimiter, in: rest)
      // What may be the beginning of a boundary waits for the rest of it.
      let count = end ?? max(0, rest.count - delimiter.count + 1)
      if isBody, count > 0 {
        try rest.withUnsafeBytes { try body(.bytes(UnsafeRawBufferPointer(rebasing: $0[..<count]))) }
      }
      rest.removeFirst(count + (end == nil ? 0 : delimiter.count))
      if end == nil { return false }
      if isBody { try body(.end) }
      state = .boundary
      return true
    case .boundary: return try endBoundary()
    case .header: return try readHeader(body)
    case .epilogue:
      rest.removeAll()
      return false
    }
  }

  private mutating func endBoundary() throws(MultipartError) -> Bool {
    guard rest.count >= 2 else { return false }
    if rest[0] == UInt8(ascii: "-"), rest[1] == UInt8(ascii: "-") {
      state = .epilogue
      return true
    }
    let padding = rest.prefix { $0 == 0x20 || $0 == 0x09 }.count
    guard padding <= Self.mostPadding else { throw MultipartError("a boundary is followed by something else") }
    guard rest.count >= padding + 2 else { return false }
    guard rest[padding] == 0x0D, rest[padding + 1] == 0x0A else {
      throw MultipartError("a boundary is followed by something else")
    }
    parts += 1
    if parts > Self.mostParts { throw MultipartError("a form may have \(Self.mostParts) parts") }
    // The line end stays, so that a header without fields ends like any other.
    rest.removeFirst(padding)
    state = .header
    return true
  }

  private mutating func readHeader(_ body: (Event) throws -> Void) throws -> Bool {
    guard let end = Self.find(Self.headerEnd, in: rest), end <= Self.longestHeader else {
      if rest.count > Self.longestHeader + Self.headerEnd.count {
        throw MultipartError("the header of a part is longer than \(Self.longestHeader) bytes")
      }
      return false
    }
    let name = try Self.name(inHeader: rest[..<end])
    rest.removeFirst(end + Self.headerEnd.count)
    try body(.begin(name: name))
    state = .body
    return true
  }

  private static func find(_ needle: [UInt8], in bytes: [UInt8]) -> Int? {
    bytes.withUnsafeBytes { bytes in
      needle.withUnsafeBytes { needle in
        guard let start = bytes.baseAddress, let pattern = needle.baseAddress else { return nil }
        var place = 0
        // Every place where it may begin, of which there are few: it begins with a line end.
        while bytes.count - place >= needle.count,
          let found = memchr(start + place, Int32(needle[0]), bytes.count - place - needle.count + 1)
        {
          place = UnsafeRawPointer(found) - start
          if memcmp(start + place, pattern, needle.count) == 0 { return place }
          place += 1
        }
        return nil
      }
    }
  }
}

/// The texts of header fields.
extension MultipartReader {
  /// The name of a part, which its `Content-Disposition` has.
  private static func name(inHeader header: ArraySlice<UInt8>) throws(MultipartError) -> String {
    guard let text = String(validating: header, as: UTF8.self) else {
      throw MultipartError("the header of a part is no text")
    }
    for line in text.split(separator: "\r\n") {
      let field = line.split(separator: ":", maxSplits: 1)
      guard field.count == 2, field[0].lowercased() == "content-disposition" else { continue }
      let disposition = parameters(of: String(field[1]))
      if disposition.value == "form-data", let name = disposition.parameters["name"] { return name }
    }
    throw MultipartError("a part has no name, which Content-Disposition: form-data; name=\"...\" gives it")
  }

  /// A value in lower case, and its parameters, such as those of `form-data; name="a"`.
  private static func parameters(of text: String) -> (value: String, parameters: [String: String]) {
    var rest = text[...]
    func trimmed(_ text: Substring) -> String { text.trimmingCharacters(in: .whitespaces) }
    let value = trimmed(rest.prefix { $0 != ";" }).lowercased()
    rest = rest.drop { $0 != ";" }.dropFirst()
    var parameters: [String: String] = [:]
    while !rest.isEmpty {
      let name = trimmed(rest.prefix { $0 != "=" && $0 != ";" }).lowercased()
      rest = rest.drop { $0 != "=" && $0 != ";" }
      guard rest.first == "=" else {
        rest = rest.dropFirst()
        continue
      }
      rest = rest.dropFirst().drop { $0 == " " }
      var content = ""
      if rest.first == "\"" {
        rest = rest.dropFirst()
        while let character = rest.popFirst(), character != "\"" {
          if character == "\\", let escaped = rest.popFirst() {
            content.append(escaped)
          } else {
            content.append(character)
          }
        }
        rest = rest.drop { $0 != ";" }
      } else {
        content = trimmed(rest.prefix { $0 != ";" })
        rest = rest.drop { $0 != ";" }
      }
      rest = rest.dropFirst()
      if parameters[name] == nil { parameters[name] = content }
    }
    return (value, parameters)
  }
}

/// The reason why a body is no form.
package struct MultipartError: Error, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}
