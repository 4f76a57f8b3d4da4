import Foundation
public import ObjectModel

extension ManagedObject {
  /// Returns the broken rules of all properties: optionality, limits, length, pattern, counts, and errors of hooks.
  ///
  /// - Parameter ofRelationships: true to check relationships too; those of a deleted object don't matter.
  final func propertyErrors(ofRelationships: Bool = true) -> [any Error] {
    guard let registry else { return [] }
    var errors: [any Error] = []
    func note(_ check: () throws -> Void) { do { try check() } catch { errors.append(error) } }
    if type(of: self).isGenerated {
      for (property, rules) in registry.rules[entity] where ofRelationships || property.relationship == nil {
        note { try checkRules(of: property, rules) }
      }
    } else {
      for property in entity.properties where !property.isHidden && (ofRelationships || property.relationship == nil) {
        let isStored = property.storage.isStored
        note { try validateValue(isStored ? presentValue(of: property) : .null, forKey: property.name) }
      }
    }
    return errors
  }

  /// Returns an error for each text with the character U+0000.
  final func nulErrors() -> [ValidationError] {
    var errors: [ValidationError] = []
    for property in entity.properties where property.storage == .text && !row.isNull(property.slot) {
      guard row.withBytes(property.slot, { $0.contains(0) }) else { continue }
      errors.append(
        ValidationError(
          self, property: property.name, value: value(property, in: row), rule: .nulCharacter,
          message: "holds the character U+0000, which PostgreSQL does not store; remove it from the text"))
    }
    return errors
  }

  /// Throws a single error as it is, or ``ValidationErrors`` with all of them.
  final func throwAll(_ errors: [any Error]) throws {
    if errors.count == 1 { throw errors[0] }
    if !errors.isEmpty { throw ValidationErrors(errors: errors) }
  }

  /// Checks the model's rules on a value that a property has or could have.
  final func checkRules(of property: Property, _ value: () -> Value) throws {
    guard let (_, rules) = registry?.rules[entity].first(where: { $0.0 === property }) else { return }
    if property.storage == .toMany { return try checkRules(of: property, nil) }
    let value = value()
    if value.isNull {
      if !property.isOptional { throw missing(property) }
      return
    }
    guard let attribute = property.attribute else { return }
    guard let converted = value.converted(to: attribute.type) else {
      throw ValidationError(
        self, property: property.name, value: value, rule: .wrongType,
        message: "is not of the type \(attribute.type.rawValue)")
    }
    if converted.isNotANumber { throw notANumber(property, value) }
    if let violation = rules?.violation(of: converted) { throw error(violation, property, value: value) }
  }

  /// Checks the rules on the property's present value in place.
  private func checkRules(of property: Property, _ rules: AttributeRules?) throws {
    switch property.kind {
    case .attribute(let attribute):
      if row.isNull(property.slot) {
        if !attribute.isOptional { throw missing(property) }
      } else if property.storage == .real && row.real(property.slot).isNaN || isDecimalNaN(property) {
        throw notANumber(property, presentValue(of: property))
      } else if let violation = rules.flatMap({ violation(of: $0, attribute, property.slot) }) {
        throw error(violation, property, value: value(property, in: row))
      }
    case .relationship(let relationship):
      if relationship.isToMany {
        try validateCount(relationship, property)
      } else if !relationship.isOptional, row.isNull(property.slot) {
        throw missing(property)
      }
    }
  }

  /// The value to check: a decimal number that is none is nil for whoever reads it.
  private func presentValue(of property: Property) -> Value {
    isDecimalNaN(property) ? .decimal(.nan) : value(property, in: row)
  }

  /// True if a decimal number was set to what is none; a row has it as Foundation spells it.
  private func isDecimalNaN(_ property: Property) -> Bool {
    property.attribute?.type == .decimal && !row.isNull(property.slot)
      && row.withBytes(property.slot) { $0.elementsEqual("NaN".utf8) }
  }

  private func missing(_ property: Property) -> ValidationError {
    .missing(property, of: objectID, entity)
  }

  private func notANumber(_ property: Property, _ value: Value) -> ValidationError {
    ValidationError(
      self, property: property.name, value: value, rule: .notANumber,
      message: "is not a number; set it to nil or to one")
  }

  private func error(
    _ violation: AttributeRules.Violation, _ property: Property, value: Value
  ) -> ValidationError {
    ValidationError(self, property: property.name, value: value, rule: violation.rule, message: violation.message)
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

  private func validateCount(_ relationship: RelationshipDescription, _ property: Property) throws {
    guard let count = registry?.toManyIDs(of: self, property.slot).count, count > 0 else { return }
    func fail(_ rule: ValidationError.Rule, _ message: String) -> ValidationError {
      ValidationError(self, property: property.name, value: .integer(Int64(count)), rule: rule, message: message)
    }
    if count < relationship.minimumCount {
      throw fail(.tooFewDestinations, "has \(count) destinations, fewer than \(relationship.minimumCount)")
    }
    if relationship.maximumCount > 0, count > relationship.maximumCount {
      throw fail(.tooManyDestinations, "has \(count) destinations, more than \(relationship.maximumCount)")
    }
  }
}

extension Value {
  /// True if the value is NaN, which no store keeps.
  var isNotANumber: Bool {
    switch self {
    case .double(let number): number.isNaN
    case .decimal(let number): number.isNaN
    case .date(let date): date.timeIntervalSinceReferenceDate.isNaN
    case .null, .integer, .boolean, .string, .data, .uuid, .url: false
    }
  }
}

extension ValidationError {
  /// Makes an error about an object, for the checks of your own classes too.
  public init(_ object: ManagedObject, property: String?, value: Value = .null, rule: Rule, message: String) {
    self.init(object.objectID, object.entity, property: property, value: value, rule: rule, message: message)
  }
}
