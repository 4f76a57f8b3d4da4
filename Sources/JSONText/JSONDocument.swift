/// A value and the text it was read from, so that a later error about its meaning can name the line.
public struct JSONDocument: Sendable {
  /// What the text means.
  public let value: JSONValue
  private let text: [UInt8]
  private let dialect: JSONDialect
  private let limits: JSONLimits

  /// Reads a text that holds one value.
  ///
  /// - Throws: ``JSONError`` that says where and what.
  public init(
    parsing bytes: some Collection<UInt8>, dialect: JSONDialect = .json, limits: JSONLimits = JSONLimits()
  ) throws(JSONError) {
    text = Array(bytes)
    self.dialect = dialect
    self.limits = limits
    value = try withRawBytes(of: text) { (bytes) throws(JSONError) in
      try JSONValue(parsing: bytes, dialect: dialect, limits: limits)
    }
  }

  /// The 1-based line of a key, such as `["parameters", "quality"]`.
  ///
  /// - Parameter path: Keys, and for an array's elements their indices from 0; empty for the value itself.
  /// - Returns: Nil if the path leads nowhere. Of a key that occurs twice, the first one's line.
  /// - Complexity: Reads the text again, and keeps nothing.
  public func line(of path: [String]) -> Int? {
    let line = try? withRawBytes(of: text) { (bytes) throws(JSONError) -> Int? in
      var parser = try JSONParser(bytes, dialect: dialect, limits: limits)
      return parser.offset(of: path).map { parser.place(of: $0).line }
    }
    return line ?? nil
  }
}
