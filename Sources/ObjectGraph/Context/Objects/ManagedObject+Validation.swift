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
      for rules in registry.rules[entity] where ofRelationships || !rules.isOfRelationship {
        note { try check(rules) }
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
    guard let rules = registry?.rules[entity].first(where: { $0.property === property }) else { return }
    if rules.form == .toMany { return try check(rules) }
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
    if let violation = rules.limits?.violation(of: converted) { throw error(violation, property, value: value) }
  }

  /// Checks the rules on a property's present value in place.
  private func check(_ rules: PropertyRules) throws {
    if rules.form == .toMany { return try validateCount(rules.property) }
    let property = rules.property
    if row.isNull(property.slot) {
      if !rules.isOptional { throw missing(property) }
      return
    }
    switch rules.form {
    case .real where row.real(property.slot).isNaN, .decimal where isDecimalNaN(property):
      throw notANumber(property, presentValue(of: property))
    case .value, .real, .decimal, .toOne, .toMany: break
    }
    if let violation = rules.limits.flatMap({ violation(of: $0, rules.form, property) }) {
      throw error(violation, property, value: value(property, in: row))
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
    of limits: AttributeRules, _ form: PropertyRules.Form, _ property: Property
  ) -> AttributeRules.Violation? {
    let slot = property.slot
    return switch property.storage {
    case .integer: limits.violation(number: Double(row.integer(slot)))
    case .real: limits.violation(number: row.real(slot))
    case .text where form == .decimal:
      Decimal(string: row.text(slot)).flatMap {
        limits.violation(number: NSDecimalNumber(decimal: $0).doubleValue)
      }
    case .text: row.withBytes(slot) { limits.violation(text: $0) }
    case .bytes, .blob, .reference, .toMany: nil
    }
  }

  private func validateCount(_ property: Property) throws {
    guard let relationship = property.relationship,
      let count = registry?.toManyIDs(of: self, property.slot).count, count > 0
    else { return }
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
