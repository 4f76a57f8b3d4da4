import ObjectModel

/// The arguments of a format string, taken in order.
struct FormatArguments {
  private let values: [(any Sendable)?]
  private(set) var used = 0

  init(_ values: [(any Sendable)?]) { self.values = values }

  var remaining: Int { values.count - used }

  /// The next argument; nil if there is none left.
  mutating func next() -> FormatArgument? {
    guard used < values.count else { return nil }
    used += 1
    return FormatArgument(value: values[used - 1])
  }
}

/// One argument of a format string.
struct FormatArgument {
  let value: (any Sendable)?

  /// The argument of `%@` as one value; nil if it is none.
  var operand: Operand? { value.map { Operand(constant: $0) } ?? .value(.null) }

  /// The argument of `%@` as several values; nil if it is no collection.
  var list: [Operand]? { value.flatMap { Operand.list(of: $0) } }

  /// The argument of `%d` and the like.
  var integer: Operand? {
    guard let number = value as? any BinaryInteger else { return nil }
    return Operand(constant: number)
  }

  /// The argument of `%f`.
  var real: Operand? {
    guard case .value(let value)? = operand else { return nil }
    switch value {
    case .integer, .double, .decimal: return .value(value)
    default: return nil
    }
  }

  /// The argument of `%K`.
  var keyPath: Operand? {
    guard let text = value as? String, !text.isEmpty else { return nil }
    let names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    if names.count > 1, names[names.count - 1] == "@count" {
      return .count(Operand.Collection(names.dropLast()), variable: "_", .constant(true))
    }
    return text == "SELF" ? .evaluatedObject : .keyPath(names)
  }
}
