import Foundation
import ObjectModel

/// An attribute's limits and pattern, for values that never are objects; nil if it has none.
struct ValueRules {
  private let minimum: Double?
  private let maximum: Double?
  private let pattern: String?

  init?(_ attribute: AttributeDescription) {
    minimum = Self.number(attribute.minimum)
    maximum = Self.number(attribute.maximum)
    pattern = attribute.pattern
    if minimum == nil && maximum == nil && pattern == nil { return nil }
  }

  func problem(number: Double) -> String? {
    if let minimum, number < minimum { return "is less than \(minimum)" }
    if let maximum, number > maximum { return "is more than \(maximum)" }
    return nil
  }

  func problem(text bytes: UnsafeRawBufferPointer) -> String? {
    let text = String(decoding: bytes, as: UTF8.self)
    if let minimum, Double(text.count) < minimum { return "has fewer than \(Int(minimum)) characters" }
    if let maximum, Double(text.count) > maximum { return "has more than \(Int(maximum)) characters" }
    // The model was checked when it was read, so the pattern is one.
    if let pattern, let regex = try? Regex(pattern), text.wholeMatch(of: regex) == nil {
      return "does not match \"\(pattern)\""
    }
    return nil
  }

  private static func number(_ value: Value) -> Double? {
    switch value {
    case .integer(let value): Double(value)
    case .double(let value): value
    case .decimal(let value): NSDecimalNumber(decimal: value).doubleValue
    case .date(let value): value.timeIntervalSinceReferenceDate
    default: nil
    }
  }
}
