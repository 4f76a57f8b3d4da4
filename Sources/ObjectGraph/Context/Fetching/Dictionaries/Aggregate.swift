import Foundation
import ObjectModel

/// Takes the values of a group one by one and knows what a function makes of them; nil counts for none.
struct Aggregate {
  private let function: FetchExpression.Function
  private let isDecimal: Bool
  private var count = 0
  private var integers: Int64 = 0
  private var hasOverflown = false
  private var reals = 0.0
  private var hasReals = false
  private var decimals = Decimal(0)
  private var extreme = Value.null

  init(_ function: FetchExpression.Function, isDecimal: Bool) {
    self.function = function
    self.isDecimal = isDecimal
  }

  /// Counts a row of which no property is asked for.
  mutating func addRow() { count += 1 }

  mutating func add(_ value: Value) {
    if value.isNull { return }
    count += 1
    switch function {
    case .count: break
    case .sum, .average: addNumber(value)
    case .min: if extreme.isNull || value.order(extreme) < 0 { extreme = value }
    case .max: if extreme.isNull || value.order(extreme) > 0 { extreme = value }
    }
  }

  private mutating func addNumber(_ value: Value) {
    switch value {
    case .integer(let number):
      let (sum, overflow) = integers.addingReportingOverflow(number)
      integers = sum
      hasOverflown = hasOverflown || overflow
      reals += Double(number)
    case .double(let number):
      hasReals = true
      reals += number
    case .decimal(let number): decimals += number
    default: break
    }
  }

  /// - Throws: ``StoreError`` if a sum of integers does not fit 64 bits.
  func result() throws(StoreError) -> Value {
    switch function {
    case .count: return .integer(Int64(count))
    case .min, .max: return extreme
    case .average:
      if count == 0 { return .null }
      return isDecimal ? .decimal(decimals / Decimal(count)) : .double(reals / Double(count))
    case .sum:
      if isDecimal { return .decimal(decimals) }
      if hasReals { return .double(reals) }
      if hasOverflown { throw StoreError(.unsupported, "a sum of integers exceeds 64 bits") }
      return .integer(integers)
    }
  }
}

extension Value {
  /// Negative, 0 or positive as this comes before, with or after a value of the same kind.
  fileprivate func order(_ other: Value) -> Int {
    switch (self, other) {
    case (.integer(let left), .integer(let right)): left < right ? -1 : left > right ? 1 : 0
    case (.double(let left), .double(let right)): left < right ? -1 : left > right ? 1 : 0
    case (.boolean(let left), .boolean(let right)): (left ? 1 : 0) - (right ? 1 : 0)
    case (.decimal(let left), .decimal(let right)): left < right ? -1 : left > right ? 1 : 0
    case (.date(let left), .date(let right)): left < right ? -1 : left > right ? 1 : 0
    case (.string(let left), .string(let right)): Self.order(left.utf8, right.utf8)
    case (.url(let left), .url(let right)): Self.order(left.absoluteString.utf8, right.absoluteString.utf8)
    case (.uuid(let left), .uuid(let right)):
      withUnsafeBytes(of: left.uuid) { left in withUnsafeBytes(of: right.uuid) { Self.order(left, $0) } }
    default: 0
    }
  }

  private static func order(_ left: some Sequence<UInt8>, _ right: some Sequence<UInt8>) -> Int {
    left.lexicographicallyPrecedes(right) ? -1 : right.lexicographicallyPrecedes(left) ? 1 : 0
  }
}
