/// Which texts are accepted.
public enum JSONDialect: Sendable, Hashable {
  /// RFC 8259, nothing more; a byte order mark is skipped.
  case json
  /// JSON5 1.0.0: comments, trailing commas, single quotes, unquoted keys, hexadecimal numbers, line continuations.
  ///
  /// Infinity and NaN are refused, because no JSON text could carry them on; so are escapes in unquoted keys.
  case json5
}
