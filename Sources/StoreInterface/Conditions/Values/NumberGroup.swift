import Foundation

/// Numbers whose sum, mean and extremes do not depend on the order of adding.
package struct NumberGroup {
  /// The exact sum of integers, even beyond 64 bits.
  private var integerSum: Int128 = 0
  private var integerCount = 0
  private var reals: [Double] = []
  private var decimals: [Decimal] = []

  package init() {}

  /// Adds a number; null and texts are ignored.
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

  /// The sum; 0 without numbers.
  package var sum: ComputedValue {
    if !decimals.isEmpty { return ComputedValue(decimals.sorted().reduce(0, +)) }
    if reals.isEmpty { return Int64(exactly: integerSum).map(ComputedValue.integer) ?? .real(Double(integerSum)) }
    return ComputedValue(reals.sorted().reduce(0, +) + Double(integerSum))
  }

  /// The mean; null without numbers.
  package var average: ComputedValue {
    switch sum {
    case _ where count == 0: .null
    case .decimal(let sum): ComputedValue(sum / Decimal(count))
    case let sum: sum.real.map { ComputedValue($0 / Double(count)) } ?? .null
    }
  }

  /// The smallest decimal; null if there is none.
  package var smallestDecimal: ComputedValue { decimals.min().map(ComputedValue.init) ?? .null }

  /// The largest decimal; null if there is none.
  package var largestDecimal: ComputedValue { decimals.max().map(ComputedValue.init) ?? .null }
}
