/// A request's target: the path in decoded components and the decoded query (RFC 3986, origin form only).
package struct HTTPTarget: Equatable, Sendable {
  package struct QueryItem: Equatable, Sendable {
    package let name: String
    /// Empty for an item without an equals sign.
    package let value: String
  }

  /// The path as it was sent, still percent-encoded, without the query.
  package let path: String
  /// Decoded after splitting, so an encoded slash stays inside its component; empty for "/".
  package let components: [String]
  package let queryItems: [QueryItem]

  /// Parses a request target, or returns nil when it is not a plain absolute path with valid escapes.
  ///
  /// Refused are: other forms ("*", "http://..."), bytes outside visible ASCII, fragments, broken or incomplete
  /// escapes, escapes that decode to NUL or to invalid UTF-8, and the components "." and ".." in any spelling.
  package init?(_ target: String) {
    let bytes = Array(target.utf8)
    guard bytes.first == UInt8(ascii: "/"), bytes.allSatisfy({ 0x21...0x7e ~= $0 && $0 != UInt8(ascii: "#") }) else {
      return nil
    }
    let parts = bytes.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
    guard let components = Self.components(of: parts[0].dropFirst()),
      let items = parts.count == 2 ? Self.queryItems(of: parts[1]) : []
    else { return nil }
    path = String(decoding: parts[0], as: UTF8.self)
    self.components = components
    queryItems = items
  }

  private static func components(of path: ArraySlice<UInt8>) -> [String]? {
    if path.isEmpty { return [] }
    var components: [String] = []
    for part in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      guard let component = decoded(part), component != ".", component != ".." else { return nil }
      components.append(component)
    }
    return components
  }

  private static func queryItems(of query: ArraySlice<UInt8>) -> [QueryItem]? {
    var items: [QueryItem] = []
    for part in query.split(separator: UInt8(ascii: "&")) {
      // Forms send a space as a plus sign; a real plus sign arrives as %2B.
      let spaced = part.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
      let sides = spaced.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard let name = decoded(sides[0]), let value = sides.count == 2 ? decoded(sides[1]) : "" else { return nil }
      items.append(QueryItem(name: name, value: value))
    }
    return items
  }

  private static func decoded(_ text: ArraySlice<UInt8>) -> String? {
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      if byte != UInt8(ascii: "%") {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(hexadecimalValue), let low = rest.popFirst().flatMap(hexadecimalValue),
        high | low != 0
      else { return nil }
      bytes.append(high << 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func hexadecimalValue(_ digit: UInt8) -> UInt8? {
    Character(Unicode.Scalar(digit)).hexDigitValue.map { UInt8($0) }
  }
}
