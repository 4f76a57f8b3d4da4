import Foundation
import ObjectModel

extension ManagedObject {
  /// Checks each property's rules: optionality, minimum and maximum, length, pattern, counts.
  ///
  /// - Throws: the one ``ValidationError``, or ``ValidationErrors`` with all of them.
  final func validateProperties() throws {
    var errors: [any Error] = []
    for property in registry?.rules(of: self) ?? [] {
      do { try validate(property) } catch { errors.append(error) }
    }
    if errors.count == 1 { throw errors[0] }
    if !errors.isEmpty { throw ValidationErrors(errors: errors) }
  }

  private func validate(_ property: Property) throws(ValidationError) {
    switch property.kind {
    case .attribute(let attribute):
      if row.isNull(property.slot) {
        if !attribute.isOptional { throw missing(property) }
      } else {
        try validate(attribute, property.slot)
      }
    case .relationship(let relationship):
      if relationship.isToMany {
        try validateCount(relationship, property)
      } else if !relationship.isOptional, row.isNull(property.slot) {
        throw missing(property)
      }
    }
  }

  private func missing(_ property: Property) -> ValidationError {
    ValidationError(self, property: property.name, rule: .missingValue, message: "is required, but is nil")
  }

  private func validate(_ attribute: AttributeDescription, _ slot: Int) throws(ValidationError) {
    switch attribute.type.storage {
    case .integer: try validate(Double(row.integer(slot)), attribute, shown: "\(row.integer(slot))")
    case .real: try validate(row.real(slot), attribute, shown: "\(row.real(slot))")
    case .text where attribute.type == .decimal:
      let decimal = Decimal(string: row.text(slot)) ?? 0
      try validate(NSDecimalNumber(decimal: decimal).doubleValue, attribute, shown: "\(decimal)")
    case .text: try validate(text: row.text(slot), attribute)
    case .bytes, .blob, .reference, .toMany: break
    }
  }

  private func validate(_ number: Double, _ attribute: AttributeDescription, shown: String) throws(ValidationError) {
    if let minimum = attribute.minimum.number, number < minimum {
      throw ValidationError(
        self, property: attribute.name, rule: .tooSmall, message: "is \(shown), less than \(attribute.minimum.shown)")
    }
    if let maximum = attribute.maximum.number, number > maximum {
      throw ValidationError(
        self, property: attribute.name, rule: .tooLarge, message: "is \(shown), more than \(attribute.maximum.shown)")
    }
  }

  private func validate(text: String, _ attribute: AttributeDescription) throws(ValidationError) {
    if let minimum = attribute.minimum.number, Double(text.count) < minimum {
      throw ValidationError(
        self, property: attribute.name, rule: .tooShort,
        message: "has \(text.count) characters, fewer than \(attribute.minimum.shown)")
    }
    if let maximum = attribute.maximum.number, Double(text.count) > maximum {
      throw ValidationError(
        self, property: attribute.name, rule: .tooLong,
        message: "has \(text.count) characters, more than \(attribute.maximum.shown)")
    }
    if let pattern = attribute.pattern, let regex = try? Regex(pattern), text.wholeMatch(of: regex) == nil {
      throw ValidationError(
        self, property: attribute.name, rule: .patternMismatch, message: "does not match \"\(pattern)\"")
    }
  }

  private func validateCount(_ relationship: RelationshipDescription, _ property: Property) throws(ValidationError) {
    guard relationship.minimumCount > 0 || relationship.maximumCount > 0, let registry else { return }
    let count = registry.toManyIDs(of: self, property.slot).count
    if count > 0, count < relationship.minimumCount {
      throw ValidationError(
        self, property: property.name, rule: .tooFewDestinations,
        message: "has \(count) destinations, fewer than \(relationship.minimumCount)")
    }
    if count > 0, relationship.maximumCount > 0, count > relationship.maximumCount {
      throw ValidationError(
        self, property: property.name, rule: .tooManyDestinations,
        message: "has \(count) destinations, more than \(relationship.maximumCount)")
    }
  }
}

extension Value {
  /// The value as a number that limits can be compared with; nil if it is none.
  fileprivate var number: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .double(let value): value
    case .decimal(let value): NSDecimalNumber(decimal: value).doubleValue
    case .date(let value): value.timeIntervalSinceReferenceDate
    default: nil
    }
  }

  fileprivate var shown: String { unwrapped.map { "\($0)" } ?? "nil" }
}
