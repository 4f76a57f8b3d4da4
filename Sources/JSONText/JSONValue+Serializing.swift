extension JSONValue {
  /// The value as JSON (RFC 8259), keys in their order.
  ///
  /// Reading it gives an equal value, except that infinite numbers and NaN are written as null.
  ///
  /// - Parameter pretty: Whether each member gets its line, indented by two spaces a level.
  public func serialized(pretty: Bool = false) -> String {
    String(decoding: serializedBytes(pretty: pretty), as: UTF8.self)
  }

  /// The value as UTF-8 without a byte order mark; see ``serialized(pretty:)``.
  public func serializedBytes(pretty: Bool = false) -> [UInt8] {
    var writer = JSONWriter(isPretty: pretty)
    writer.write(self)
    return writer.bytes
  }
}
