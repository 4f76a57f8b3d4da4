import Foundation

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
