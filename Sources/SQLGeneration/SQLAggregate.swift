package import StoreInterface

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
