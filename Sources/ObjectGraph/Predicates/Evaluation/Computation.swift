/// A number that is computed in a condition.
package enum ComputedNumber: Hashable, Sendable {
  case null
  case integer(Int64)
  case real(Double)

  /// Not-a-number is nil, as in SQLite.
  private init(_ number: Double) { self = number.isNaN ? .null : .real(number) }

  private var real: Double? {
    switch self {
    case .null: nil
    case .integer(let number): Double(number)
    case .real(let number): number
    }
  }

  /// The result of arithmetic, the same as SQLite's; see ``Operand/Arithmetic``.
  package static func compute(_ left: Self, _ arithmetic: Operand.Arithmetic, _ right: Self) -> Self {
    if case .integer(let first) = left, case .integer(let second) = right {
      let result: (partialValue: Int64, overflow: Bool)
      switch arithmetic {
      case .add: result = first.addingReportingOverflow(second)
      case .subtract: result = first.subtractingReportingOverflow(second)
      case .multiply: result = first.multipliedReportingOverflow(by: second)
      case .divide:
        if second == 0 { return .null }
        result = first.dividedReportingOverflow(by: second)
      }
      if !result.overflow { return .integer(result.partialValue) }
    }
    guard let first = left.real, let second = right.real else { return .null }
    switch arithmetic {
    case .add: return Self(first + second)
    case .subtract: return Self(first - second)
    case .multiply: return Self(first * second)
    case .divide: return second == 0 ? .null : Self(first / second)
    }
  }

  /// The result of a function of numbers; nil for other functions.
  package func applying(_ function: Operand.Function) -> Self {
    switch (self, function) {
    case (.integer(let number), .absolute): number == .min ? .real(0x1p63) : .integer(abs(number))
    case (.integer, .ceiling), (.integer, .floor): self
    case (.real(let number), .absolute): Self(abs(number))
    case (.real(let number), .ceiling): Self(number.rounded(.up))
    case (.real(let number), .floor): Self(number.rounded(.down))
    default: .null
    }
  }
}

/// Functions of texts in conditions.
package enum ComputedText {
  /// The text in upper or lower case without regard to any language; nil for other functions.
  package static func applying(_ function: Operand.Function, to text: UnsafeRawBufferPointer) -> String? {
    switch function {
    case .lowercase: String(decoding: text, as: UTF8.self).lowercased()
    case .uppercase: String(decoding: text, as: UTF8.self).uppercased()
    case .length, .absolute, .ceiling, .floor: nil
    }
  }

  /// The number of characters.
  package static func length(_ text: UnsafeRawBufferPointer) -> Int { String(decoding: text, as: UTF8.self).count }
}
