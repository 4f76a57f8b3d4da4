import Foundation
package import ObjectModel

/// The limits and the pattern of an attribute, prepared once; for objects that are saved and values that are imported.
package struct AttributeRules: Sendable {
  /// A rule that a value breaks, with a message.
  package struct Violation {
    package let rule: ValidationError.Rule
    package let message: String
  }

  private let attribute: AttributeDescription
  private let minimum: Double?
  private let maximum: Double?
  private let pattern: WholeTextPattern?

  /// Returns nil if the attribute has no such rule.
  package init?(_ attribute: AttributeDescription) {
    minimum = attribute.minimum.number
    maximum = attribute.maximum.number
    pattern = attribute.pattern.flatMap { WholeTextPattern.cached($0, []) }
    if minimum == nil && maximum == nil && pattern == nil { return nil }
    self.attribute = attribute
  }

  /// Returns the rule that a number, or a date in seconds since 2001, breaks.
  package func violation(number: Double) -> Violation? {
    if let minimum, number < minimum {
      return Violation(rule: .tooSmall, message: "is \(shown(number)), less than \(shown(minimum))")
    }
    if let maximum, number > maximum {
      return Violation(rule: .tooLarge, message: "is \(shown(number)), more than \(shown(maximum))")
    }
    return nil
  }

  /// Returns the rule that a text in UTF-8 breaks.
  package func violation(text: UnsafeRawBufferPointer) -> Violation? {
    if minimum != nil || maximum != nil {
      let count = String(decoding: text, as: UTF8.self).count
      if let minimum, Double(count) < minimum {
        return Violation(rule: .tooShort, message: "has \(count) characters, fewer than \(Int(minimum))")
      }
      if let maximum, Double(count) > maximum {
        return Violation(rule: .tooLong, message: "has \(count) characters, more than \(Int(maximum))")
      }
    }
    if let pattern, !pattern.matches(text) {
      return Violation(rule: .patternMismatch, message: "does not match \"\(attribute.pattern ?? "")\"")
    }
    return nil
  }

  /// Returns the rule that a value of the attribute's type breaks.
  func violation(of value: Value) -> Violation? {
    if case .string(var text) = value { return text.withUTF8 { violation(text: UnsafeRawBufferPointer($0)) } }
    return value.number.flatMap(violation(number:))
  }

  private func shown(_ number: Double) -> String {
    if attribute.type == .date { return "\(Date(timeIntervalSinceReferenceDate: number))" }
    return Int64(exactly: number).map { "\($0)" } ?? "\(number)"
  }
}

extension Value {
  /// The value as a number to compare with limits; nil if it is not a number.
  fileprivate var number: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .double(let value): value
    case .decimal(let value): NSDecimalNumber(decimal: value).doubleValue
    case .date(let value): value.timeIntervalSinceReferenceDate
    default: nil
    }
  }
}

/// The rules of a property that a save checks, as its model says them, at hand for each object.
final class PropertyRules: Sendable {
  /// The way in which the property's row holds what is checked.
  enum Form: Sendable {
    /// A value, which may be missing or break a limit.
    case value
    /// A binary number, which may be none.
    case real
    /// A decimal number, which may be none; as text.
    case decimal
    case toOne, toMany
  }

  let property: Property
  let form: Form
  let isOptional: Bool
  let limits: AttributeRules?

  /// Returns nil if a save has nothing to check.
  fileprivate init?(_ property: Property) {
    switch property.kind {
    case .attribute(let attribute):
      form = property.storage == .real ? .real : attribute.type == .decimal ? .decimal : .value
      isOptional = attribute.isOptional
      limits = AttributeRules(attribute)
      let mayBeNoNumber = form != .value && property.isPersistent
      if attribute.derivation != nil || isOptional && !mayBeNoNumber && limits == nil { return nil }
    case .relationship(let relationship):
      form = relationship.isToMany ? .toMany : .toOne
      isOptional = relationship.isOptional
      limits = nil
      let isCounted = relationship.minimumCount > 0 || relationship.maximumCount > 0
      if relationship.isToMany ? !isCounted : isOptional { return nil }
    }
    self.property = property
  }

  var isOfRelationship: Bool { form == .toOne || form == .toMany }
}

/// The rules of a model's properties, prepared once for all contexts.
struct RuleTable: Sendable {
  private let properties: [[PropertyRules]]

  init(_ model: ManagedObjectModel) { properties = model.entities.map { $0.properties.compactMap(PropertyRules.init) } }

  /// The rules of an entity's properties; none of those without any.
  subscript(_ entity: Entity) -> [PropertyRules] { properties[entity.index] }
}
