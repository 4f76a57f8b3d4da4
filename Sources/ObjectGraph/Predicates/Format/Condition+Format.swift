extension Condition {
  /// Reads a condition from a format string such as `age >= %@ AND lastName BEGINSWITH[c] 'mc'`.
  ///
  /// Arguments: `%@` for a value, an object's ID or a collection, `%K` for a key path in text, `%d`, `%ld`, `%u` and
  /// `%f` for numbers. `$name` stands for a value that ``substituting(_:)`` puts in later. A property named like a
  /// keyword is written `#name`.
  ///
  /// - Throws: ``ConditionError`` with the column and the offending part.
  public init(format: String, _ arguments: (any Sendable)?...) throws(ConditionError) {
    try self.init(format: format, arguments: arguments)
  }

  /// Reads a condition from a format string and an array of arguments.
  public init(format: String, arguments: [(any Sendable)?]) throws(ConditionError) {
    var parser = try FormatParser(format, arguments)
    self = try parser.parse()
  }
}
