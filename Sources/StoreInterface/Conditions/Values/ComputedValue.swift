package import Foundation

/// A value computed in a condition; both back ends call this code, SQLite through registered functions.
package enum ComputedValue: Hashable, Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case decimal(Decimal)
  case text(String)

  /// Makes a real number; NaN becomes null and zero has no sign, as in SQLite.
  package init(_ number: Double) { self = number.isNaN ? .null : .real(number == 0 ? 0 : number) }

  package init(_ number: Decimal) { self = number.isNaN ? .null : .decimal(number) }

  /// Parses the UTF-8 of a decimal number.
  package init(decimal text: UnsafeRawBufferPointer) {
    self = Decimal(string: String(decoding: text, as: UTF8.self)).map(Self.init) ?? .null
  }

  package var real: Double? {
    switch self {
    case .null, .text: nil
    case .integer(let number): Double(number)
    case .real(let number): number
    case .decimal(let number): Double("\(number)")
    }
  }

  private var decimal: Decimal? {
    switch self {
    case .integer(let number): Decimal(number)
    case .decimal(let number): number
    case .null, .real, .text: nil
    }
  }

  // MARK: Arithmetic

  /// Returns the result of arithmetic, the same as SQLite's; see ``Operand/Arithmetic``.
  package static func compute(_ left: Self, _ arithmetic: Operand.Arithmetic, right: Self) -> Self {
    if case .integer(let first) = left, case .integer(let second) = right, arithmetic != .power {
      if let result = compute(first, arithmetic, right: second) { return result }
    }
    if case .decimal = left { return compute(left.decimal, arithmetic, right: right.decimal) }
    if case .decimal = right { return compute(left.decimal, arithmetic, right: right.decimal) }
    guard let first = left.real, let second = right.real else { return .null }
    switch arithmetic {
    case .add: return Self(first + second)
    case .subtract: return Self(first - second)
    case .multiply: return Self(first * second)
    case .divide: return second == 0 ? .null : Self(first / second)
    case .power: return Self(pow(first, second))
    case .remainder: return .null
    }
  }

  /// Returns the result if it is an integer; nil if 64 bits can't hold it.
  private static func compute(_ left: Int64, _ arithmetic: Operand.Arithmetic, right: Int64) -> Self? {
    let result: (partialValue: Int64, overflow: Bool)
    switch arithmetic {
    case .add: result = left.addingReportingOverflow(right)
    case .subtract: result = left.subtractingReportingOverflow(right)
    case .multiply: result = left.multipliedReportingOverflow(by: right)
    case .divide:
      if right == 0 { return .null }
      result = left.dividedReportingOverflow(by: right)
    case .remainder:
      if right == 0 { return .null }
      return .integer(right == -1 ? 0 : left % right)
    case .power: return nil
    }
    return result.overflow ? nil : .integer(result.partialValue)
  }

  private static func compute(_ left: Decimal?, _ arithmetic: Operand.Arithmetic, right: Decimal?) -> Self {
    guard let left, let right else { return .null }
    switch arithmetic {
    case .add: return Self(left + right)
    case .subtract: return Self(left - right)
    case .multiply: return Self(left * right)
    case .divide: return right.isZero ? .null : Self(left / right)
    case .power, .remainder: return .null
    }
  }
}

extension Operand.Function {
  /// True if it reads texts as they are, and not as decimal numbers.
  package var takesTexts: Bool {
    switch self {
    case .lowercase, .uppercase, .length, .castToNumber, .castToText: true
    default: false
    }
  }
}

extension ComputedValue {
  /// Makes a text or a decimal number, depending on the function.
  package init(_ bytes: UnsafeRawBufferPointer, for function: Operand.Function) {
    self = function.takesTexts ? .text(String(decoding: bytes, as: UTF8.self)) : ComputedValue(decimal: bytes)
  }

  /// Returns the result of a function; null if it does not apply to the value.
  package func applying(_ function: Operand.Function) -> Self {
    switch self {
    case .null: .null
    case .integer(let number): Self.apply(function, number)
    case .real(let number): Self.apply(function, number)
    case .decimal(let number): Self.apply(function, number)
    case .text(let text): Self.apply(function, text)
    }
  }

  private static func apply(_ function: Operand.Function, _ number: Int64) -> Self {
    switch function {
    case .absolute: number == .min ? .real(0x1p63) : .integer(abs(number))
    case .ceiling, .floor, .truncate: .integer(number)
    case .castToText: .text("\(number)")
    default: apply(function, Double(number))
    }
  }

  private static func apply(_ function: Operand.Function, _ number: Double) -> Self {
    switch function {
    case .absolute: Self(abs(number))
    case .ceiling: Self(number.rounded(.up))
    case .floor: Self(number.rounded(.down))
    case .truncate: Self(number.rounded(.towardZero))
    case .squareRoot: Self(number.squareRoot())
    case .exponential: Self(exp(number))
    case .naturalLogarithm: Self(log(number))
    case .logarithm: Self(log10(number))
    case .castToNumber, .castToDate: Self(number)
    case .castToText: .text("\(number)")
    case .lowercase, .uppercase, .length: .null
    }
  }

  private static func apply(_ function: Operand.Function, _ number: Decimal) -> Self {
    switch function {
    case .absolute: Self(number.magnitude)
    case .ceiling: Self(number.rounded(.up))
    case .floor: Self(number.rounded(.down))
    case .truncate: Self(number.rounded(number.sign == .minus ? .up : .down))
    default: .null
    }
  }

  private static func apply(_ function: Operand.Function, _ text: String) -> Self {
    switch function {
    case .lowercase: .text(text.lowercased())
    case .uppercase: .text(text.uppercased())
    case .length: .integer(Int64(text.count))
    case .castToNumber: Double(text).map(Self.init) ?? .null
    case .castToText: .text(text)
    default: .null
    }
  }
}

extension Decimal {
  fileprivate func rounded(_ mode: NSDecimalNumber.RoundingMode) -> Decimal {
    var (source, result) = (self, Decimal())
    NSDecimalRound(&result, &source, 0, mode)
    return result
  }
}
