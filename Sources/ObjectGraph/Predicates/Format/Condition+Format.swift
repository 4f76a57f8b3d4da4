extension Condition {
  /// Reads a condition from a format string such as `age >= %@ AND lastName BEGINSWITH[c] 'mc'`.
  ///
  /// Arguments: `%@` for a value, an object or its ID, or a collection of these; `%K` for a key path in text; `%d`,
  /// `%i`, `%ld`, `%u` and `%f` for numbers. `$name` stands for a value that ``substituting(_:)`` puts in later. A
  /// property named like a keyword is written `#name`. Keywords may be in lower case.
  ///
  /// - Throws: ``ConditionError`` with the column and the offending part.
  public init(format: String, _ arguments: Any?...) throws(ConditionError) {
    try self.init(format: format, arguments: arguments)
  }

  /// Reads a condition from a format string and an array of arguments.
  public init(format: String, arguments: [Any?]) throws(ConditionError) {
    var parser = try FormatParser(format, arguments)
    self = try parser.parse()
  }
}

extension Operand {
  /// Reads a value from a format string such as `price * amount`.
  init(format: String, arguments: [Any?]) throws(ConditionError) {
    var parser = try FormatParser(format, arguments)
    self = try parser.parseOperand()
  }
}
