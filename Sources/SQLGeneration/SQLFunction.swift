import Foundation
package import ObjectModel
package import StoreInterface

/// A deterministic function that a connection must register before it runs generated SQL.
///
/// Each is the code that evaluation in memory uses, so both give the same results. A null argument gives null.
package struct SQLFunction: Sendable {
  /// An argument; bytes are valid during the call.
  package enum Argument {
    case null
    case integer(Int64)
    case double(Double)
    /// A text as UTF-8, or a blob.
    case bytes(UnsafeRawBufferPointer)

    /// The argument as a number; texts are those of decimal numbers.
    package var number: ComputedValue { value(for: .absolute) }

    fileprivate func value(for function: Operand.Function) -> ComputedValue {
      switch self {
      case .null: .null
      case .integer(let number): .integer(number)
      case .double(let number): ComputedValue(number)
      case .bytes(let bytes): ComputedValue(bytes, for: function)
      }
    }
  }

  package let name: String
  package let argumentCount: Int
  private let body: @Sendable ([Argument]) -> SQLBinding

  /// The function's result; null for arguments it is not made for.
  package func callAsFunction(_ arguments: [Argument]) -> SQLBinding { body(arguments) }

  /// `bobbin_fold(text, options)`: the text without regard to case (1), marks (2) or both (3).
  package static let fold = SQLFunction(name: "bobbin_fold", argumentCount: 2) { arguments in
    guard case .bytes(let text) = arguments[0], case .integer(let options) = arguments[1] else { return .null }
    let folded = TextFolding.fold(text, Condition.TextOptions(rawValue: UInt8(truncatingIfNeeded: options)))
    return .text(String(decoding: folded, as: UTF8.self))
  }

  /// `bobbin_decimal_key(number)`: a blob that orders as the number does.
  package static let decimalKey = SQLFunction(name: "bobbin_decimal_key", argumentCount: 1) { arguments in
    switch arguments[0] {
    case .bytes(let text): DecimalKey(text).map { .blob($0.bytes) } ?? .null
    case .integer(let number): DecimalKey("\(number)").map { .blob($0.bytes) } ?? .null
    case .null, .double: .null
    }
  }

  /// `bobbin_standard_key(text)`: a blob that orders as people expect it of names.
  package static let standardKey = SQLFunction(name: "bobbin_standard_key", argumentCount: 1) { arguments in
    guard case .bytes(let text) = arguments[0] else { return .null }
    return .blob(TextFolding.standardKey(text))
  }

  /// `bobbin_begins(text, prefix)`.
  package static let begins = ofTexts("bobbin_begins", TextSearch.hasPrefix)

  /// `bobbin_ends(text, suffix)`.
  package static let ends = ofTexts("bobbin_ends", TextSearch.hasSuffix)

  /// `bobbin_contains(text, part)`.
  package static let contains = ofTexts("bobbin_contains", TextSearch.contains)

  /// `bobbin_like(text, pattern)` with `?` and `*`.
  package static let like = ofTexts("bobbin_like", TextSearch.isLike)

  /// `bobbin_matches(text, pattern, options)`: whether the whole text matches a regular expression of ICU.
  package static let matches = SQLFunction(name: "bobbin_matches", argumentCount: 3) { arguments in
    guard case .bytes(let text) = arguments[0], case .bytes(let pattern) = arguments[1],
      case .integer(let options) = arguments[2],
      let expression = WholeTextPattern.cached(
        String(decoding: pattern, as: UTF8.self), Condition.TextOptions(rawValue: UInt8(truncatingIfNeeded: options)))
    else { return .null }
    return .integer(expression.matches(text) ? 1 : 0)
  }

  /// `bobbin_abs(number)`, `bobbin_lowercase(text)` and the like.
  package static func computing(_ function: Operand.Function) -> SQLFunction {
    SQLFunction(name: "bobbin_" + function.rawValue, argumentCount: 1) { arguments in
      SQLBinding(arguments[0].value(for: function).applying(function))
    }
  }

  /// `bobbin_decimal_sum(numbers)` and the like, of decimal numbers with spaces between them; null stands for none.
  package static func ofDecimals(_ name: String) -> SQLFunction {
    SQLFunction(name: "bobbin_decimal_" + name, argumentCount: 1) { arguments in
      var numbers: String?
      if case .bytes(let text) = arguments[0] { numbers = String(decoding: text, as: UTF8.self) }
      return DecimalAggregate.result(name, numbers).map(SQLBinding.text) ?? .null
    }
  }

  /// `bobbin_compute(left, sign, right)`: arithmetic that SQLite does not have.
  package static let compute = SQLFunction(name: "bobbin_compute", argumentCount: 3) { arguments in
    guard case .bytes(let sign) = arguments[1],
      let arithmetic = Operand.Arithmetic(rawValue: String(decoding: sign, as: UTF8.self))
    else { return .null }
    return SQLBinding(ComputedValue.compute(arguments[0].number, arithmetic, right: arguments[2].number))
  }

  /// `bobbin_convert(value, type, type, rounds)`: what a column of the one type holds, as one of the other holds it; null
  /// for what can't be converted, or, unless it may round, would not survive.
  package static let convert = SQLFunction(name: "bobbin_convert", argumentCount: 4) { arguments in
    guard let source = arguments[1].attributeType, let target = arguments[2].attributeType,
      let conversion = ValueConversion(from: source, to: target)
    else { return .null }
    if case .integer(1) = arguments[3] { return converted(arguments[0], by: conversion, rounds: true) }
    return converted(arguments[0], by: conversion, rounds: false)
  }

  /// Converts what a column of the one type holds to what one of the other holds; null for what can't be converted, or,
  /// unless it may round, would not survive.
  package static func converted(_ argument: Argument, by conversion: ValueConversion, rounds: Bool) -> SQLBinding {
    guard let value = argument.value(as: conversion.source),
      let converted = rounds ? conversion.rounded(value) : conversion.exact(value)
    else { return .null }
    return SQLBinding(converted, as: conversion.target)
  }

  package static let all =
    [fold, decimalKey, standardKey, begins, ends, contains, like, matches, compute, convert]
    + ["sum", "min", "max", "average"].map(ofDecimals) + Operand.Function.allCases.map(computing)

  private static func ofTexts(
    _ name: String, _ test: @escaping @Sendable (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool
  ) -> SQLFunction {
    SQLFunction(name: name, argumentCount: 2) { arguments in
      guard case .bytes(let text) = arguments[0], case .bytes(let part) = arguments[1] else { return .null }
      return .integer(test(text, part) ? 1 : 0)
    }
  }
}

extension SQLFunction.Argument {
  fileprivate var attributeType: AttributeType? {
    if case .bytes(let bytes) = self { AttributeType(rawValue: String(decoding: bytes, as: UTF8.self)) } else { nil }
  }

  /// Returns the value of a column of an attribute of the type; nil if it is null, or holds something else.
  fileprivate func value(as type: AttributeType) -> Value? {
    switch (type.storage, self) {
    case (.integer, .integer(let number)): type == .boolean ? .boolean(number != 0) : .integer(number)
    case (.real, .double(let number)):
      type == .date ? .date(Date(timeIntervalSinceReferenceDate: number)) : .double(number)
    case (.real, .integer(let number)): SQLFunction.Argument.double(Double(number)).value(as: type)
    case (.text, .bytes(let bytes)): Value(stored: String(decoding: bytes, as: UTF8.self), as: type)
    case (.bytes, .bytes(let bytes)) where bytes.count == 16: .uuid(UUID(uuid: bytes.loadUnaligned(as: uuid_t.self)))
    default: Value?.none
    }
  }
}

extension Value {
  fileprivate init?(stored text: String, as type: AttributeType) {
    switch type {
    case .decimal:
      guard let number = Decimal(string: text) else { return nil }
      self = .decimal(number)
    case .uri:
      guard let url = URL(string: text) else { return nil }
      self = .url(url)
    default: self = .string(text)
    }
  }
}

/// An aggregate function of one argument that a connection must register before it runs generated SQL.
///
/// Each is the code that evaluation in memory uses, so both give the same results, whatever the order of the rows.
package struct SQLAggregate: Sendable {
  package let name: String
  private let body: @Sendable (NumberGroup) -> ComputedValue

  /// The function's result.
  package func callAsFunction(_ group: NumberGroup) -> SQLBinding { SQLBinding(body(group)) }

  static let sum = SQLAggregate(name: "bobbin_sum", body: \.sum)
  static let average = SQLAggregate(name: "bobbin_average", body: \.average)
  static let smallestDecimal = SQLAggregate(name: "bobbin_min", body: \.smallestDecimal)
  static let largestDecimal = SQLAggregate(name: "bobbin_max", body: \.largestDecimal)

  package static let all = [sum, average, smallestDecimal, largestDecimal]
}
