import Foundation

/// Numbers whose sum, mean and extremes do not depend on the order in which they came.
package struct NumberGroup {
  /// Exact, whatever 64 bits can hold.
  private var integerSum: Int128 = 0
  private var integerCount = 0
  private var reals: [Double] = []
  private var decimals: [Decimal] = []

  package init() {}

  /// Adds a number; nil and texts count for nothing.
  package mutating func add(_ value: ComputedValue) {
    switch value {
    case .null, .text: break
    case .integer(let number):
      integerSum += Int128(number)
      integerCount += 1
    case .real(let number): reals.append(number)
    case .decimal(let number): decimals.append(number)
    }
  }

  private var count: Int { integerCount + reals.count + decimals.count }

  /// 0 of nothing.
  package var sum: ComputedValue {
    if !decimals.isEmpty { return ComputedValue(decimals.sorted().reduce(0, +)) }
    if reals.isEmpty { return Int64(exactly: integerSum).map(ComputedValue.integer) ?? .real(Double(integerSum)) }
    return ComputedValue(reals.sorted().reduce(0, +) + Double(integerSum))
  }

  /// Nil of nothing.
  package var average: ComputedValue {
    switch sum {
    case _ where count == 0: .null
    case .decimal(let sum): ComputedValue(sum / Decimal(count))
    case let sum: sum.real.map { ComputedValue($0 / Double(count)) } ?? .null
    }
  }

  /// The smallest decimal; nil of nothing.
  package var smallestDecimal: ComputedValue { decimals.min().map(ComputedValue.init) ?? .null }

  /// The largest decimal; nil of nothing.
  package var largestDecimal: ComputedValue { decimals.max().map(ComputedValue.init) ?? .null }
}
