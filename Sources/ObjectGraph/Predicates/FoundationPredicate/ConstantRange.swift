/// A range that a `#Predicate` captured.
protocol ConstantRange {
  var converted: ConvertedExpression? { get }
}

extension ClosedRange: ConstantRange {
  var converted: ConvertedExpression? { .range(lowerBound, upperBound, includesUpper: true) }
}

extension Range: ConstantRange {
  var converted: ConvertedExpression? { .range(lowerBound, upperBound, includesUpper: false) }
}

extension PartialRangeFrom: ConstantRange {
  var converted: ConvertedExpression? { .range(lowerBound, nil, includesUpper: true) }
}

extension PartialRangeThrough: ConstantRange {
  var converted: ConvertedExpression? { .range(nil, upperBound, includesUpper: true) }
}

extension PartialRangeUpTo: ConstantRange {
  var converted: ConvertedExpression? { .range(nil, upperBound, includesUpper: false) }
}

extension ConvertedExpression {
  /// Returns a range between constants; nil if they have no equivalent.
  fileprivate static func range(_ lower: Any?, _ upper: Any?, includesUpper: Bool) -> ConvertedExpression? {
    let bounds = (lower.map { Operand(constant: $0) }, upper.map { Operand(constant: $0) })
    if case .some(nil) = bounds.0 { return nil }
    if case .some(nil) = bounds.1 { return nil }
    return .range(lower: bounds.0 ?? nil, upper: bounds.1 ?? nil, includesUpper: includesUpper)
  }
}
