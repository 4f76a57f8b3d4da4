import JSONText

extension JSONValue {
  /// Reads a text as the daemon would read its bytes.
  init(_ text: String, _ dialect: JSONDialect = .json, limits: JSONLimits = JSONLimits()) throws(JSONError) {
    try self.init(parsing: Array(text.utf8), dialect: dialect, limits: limits)
  }
}

/// The error of a text, or nil if it has none.
func failure(
  of bytes: [UInt8], _ dialect: JSONDialect = .json, limits: JSONLimits = JSONLimits()
) -> JSONError? {
  do throws(JSONError) {
    _ = try JSONValue(parsing: bytes, dialect: dialect, limits: limits)
    return nil
  } catch {
    return error
  }
}
