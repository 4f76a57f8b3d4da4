/// A value and the text it was read from, so that a later error about its meaning can name the line.
public struct JSONDocument: Sendable {
  /// The value that the text holds.
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

extension JSONValue {
  /// Reads a text that holds one value.
  ///
  /// - Parameter bytes: UTF-8, with or without a byte order mark: an array, Data, a string's `utf8`.
  /// - Throws: ``JSONError`` that says where and what.
  /// - Complexity: Linear; about a microsecond for 130 bytes.
  public init(
    parsing bytes: some Collection<UInt8>, dialect: JSONDialect = .json, limits: JSONLimits = JSONLimits()
  ) throws(JSONError) {
    self = try withRawBytes(of: bytes) { (bytes) throws(JSONError) in
      try JSONValue(parsing: bytes, dialect: dialect, limits: limits)
    }
  }

  /// Reads a text that holds one value, from memory.
  public init(
    parsing bytes: UnsafeRawBufferPointer, dialect: JSONDialect = .json, limits: JSONLimits = JSONLimits()
  ) throws(JSONError) {
    var parser = try JSONParser(bytes, dialect: dialect, limits: limits)
    self = try parser.wholeText()
  }
}

/// Lends the bytes of any collection, copied only if they don't lie in one piece.
func withRawBytes<Result>(
  of bytes: some Collection<UInt8>, _ body: (UnsafeRawBufferPointer) throws(JSONError) -> Result
) throws(JSONError) -> Result {
  // The standard library's function rethrows untyped errors, so the error travels as a result.
  func attempt(_ buffer: UnsafeBufferPointer<UInt8>) -> Swift.Result<Result, JSONError> {
    do throws(JSONError) { return .success(try body(UnsafeRawBufferPointer(buffer))) } catch { return .failure(error) }
  }
  let result = bytes.withContiguousStorageIfAvailable(attempt) ?? Array(bytes).withUnsafeBufferPointer(attempt)
  return try result.get()
}
