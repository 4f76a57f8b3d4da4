import Foundation
import ObjectModel

/// The types of what is computed.
extension EntityScope {
  /// The type of a constant, too.
  private func anyType(of operand: Operand) throws(ConditionError) -> OperandType? {
    if case .value(let value) = operand { return OperandType(value) }
    return try type(of: operand)
  }

  /// The type of a number; dates count as the seconds since 2001.
  private func number(_ operand: Operand, _ whole: Operand) throws(ConditionError) -> OperandType {
    let type = try anyType(of: operand)
    switch type {
    case .integer?, .real?, .decimal?: return type ?? .real
    case .date?: return .real
    case .null?: return .integer
    default:
      throw ConditionError(
        .typeMismatch, "only numbers and dates can be computed with, not " + (type?.name ?? "an object"),
        fragment: "\(whole)")
    }
  }

  func type(
    of arithmetic: Operand.Arithmetic, _ left: Operand, _ right: Operand, _ whole: Operand
  ) throws(ConditionError) -> OperandType {
    let types = (try number(left, whole), try number(right, whole))
    let hasDecimal = types.0 == .decimal || types.1 == .decimal
    switch arithmetic {
    case .remainder where types != (.integer, .integer):
      throw ConditionError(.typeMismatch, "only integers have a remainder", fragment: "\(whole)")
    case .power where hasDecimal:
      throw ConditionError(.unsupported, "decimal numbers have no powers; CAST them to NSNumber", fragment: "\(whole)")
    case .power: return .real
    default: break
    }
    if hasDecimal && (types.0 == .real || types.1 == .real) {
      throw ConditionError(
        .typeMismatch, "a decimal number can't be computed with a floating-point number; CAST it to NSNumber",
        fragment: "\(whole)")
    }
    return hasDecimal ? .decimal : types == (.integer, .integer) ? .integer : .real
  }

  func type(
    of function: Operand.Function, _ operand: Operand, _ whole: Operand
  ) throws(ConditionError) -> OperandType {
    let type = try anyType(of: operand)
    switch function {
    case .absolute, .ceiling, .floor, .truncate: return try number(operand, whole)
    case .squareRoot, .exponential, .naturalLogarithm, .logarithm, .castToDate:
      if try number(operand, whole) == .decimal {
        throw ConditionError(
          .typeMismatch, "\(function.rawValue) takes no decimal number; CAST it to NSNumber", fragment: "\(whole)")
      }
      return function == .castToDate ? .date : .real
    case .castToNumber, .castToText:
      switch type {
      case .integer?, .real?, .decimal?, .text?, .uri?, .null?: break
      case .date?, .boolean?: if function == .castToText { fallthrough }
      default:
        throw ConditionError(.typeMismatch, "\(type?.name ?? "an object") can't be cast so", fragment: "\(whole)")
      }
      return function == .castToNumber ? .real : .text
    case .lowercase, .uppercase, .length:
      guard let type, type.isText || type == .null else {
        throw ConditionError(
          .typeMismatch, "\(function.rawValue) takes a text, not \(type?.name ?? "an object")", fragment: "\(whole)")
      }
      return function == .length ? .integer : .text
    }
  }

  /// The type of an aggregation; this is the scope of its operand.
  func type(of aggregation: Operand.Aggregation, _ whole: Operand) throws(ConditionError) -> OperandType {
    guard let operand = aggregation.operand else { return .integer }
    let type = try anyType(of: operand)
    switch (aggregation, type) {
    case (.sum, .integer?), (.sum, .real?), (.sum, .decimal?), (.average, .decimal?): return type ?? .real
    case (.average, .integer?), (.average, .real?): return .real
    case (.min, .object?), (.max, .object?), (.min, .data?), (.max, .data?): break
    case (.min, let type?), (.max, let type?): return type
    default: break
    }
    throw ConditionError(
      .typeMismatch, "that can't be computed of \(type?.name ?? "objects")", fragment: "\(whole)")
  }

  /// Arithmetic in which constants fit the numbers that they are computed with.
  func fitting(_ left: Operand, _ arithmetic: Operand.Arithmetic, _ right: Operand) -> Operand {
    func isDecimal(_ operand: Operand) -> Bool { (try? anyType(of: operand)) == .decimal }
    func fitted(_ operand: Operand, with other: Operand) -> Operand {
      guard case .value(let value) = operand, isDecimal(other), let decimal = value.comparable(with: .decimal) else {
        return operand
      }
      return .value(decimal)
    }
    return .arithmetic(fitted(left, with: right), arithmetic, fitted(right, with: left))
  }
}
