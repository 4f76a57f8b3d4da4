import Foundation
import ObjectModel

extension ManagedObject {
  /// Checks each property's rules: optionality, minimum and maximum, length, pattern, counts.
  ///
  /// - Throws: the one ``ValidationError``, or ``ValidationErrors`` with all of them.
  final func validateProperties() throws {
    var errors: [any Error] = []
    for (property, rules) in registry?.rules(of: self) ?? [] {
      do { try validate(property, rules) } catch { errors.append(error) }
    }
    if errors.count == 1 { throw errors[0] }
    if !errors.isEmpty { throw ValidationErrors(errors: errors) }
  }

  private func validate(_ property: Property, _ rules: AttributeRules?) throws(ValidationError) {
    switch property.kind {
    case .attribute(let attribute):
      if row.isNull(property.slot) {
        if !attribute.isOptional { throw missing(property) }
      } else if let violation = rules.flatMap({ violation(of: $0, attribute, property.slot) }) {
        throw ValidationError(self, property: property.name, rule: violation.rule, message: violation.message)
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
    .missing(property, of: objectID, entity)
  }

  private func violation(
    of rules: AttributeRules, _ attribute: AttributeDescription, _ slot: Int
  ) -> AttributeRules.Violation? {
    switch attribute.type.storage {
    case .integer: rules.violation(number: Double(row.integer(slot)))
    case .real: rules.violation(number: row.real(slot))
    case .text where attribute.type == .decimal:
      Decimal(string: row.text(slot)).flatMap {
        rules.violation(number: NSDecimalNumber(decimal: $0).doubleValue)
      }
    case .text: row.withBytes(slot) { rules.violation(text: $0) }
    case .bytes, .blob, .reference, .toMany: nil
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
