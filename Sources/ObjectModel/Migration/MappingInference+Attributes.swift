extension MappingInference {
  /// The origin of a stored attribute's values.
  package struct AttributeMapping: Sendable {
    /// The stored attribute that they come from; nil if there is none.
    package let origin: Property?
    /// The conversion of each value; nil if they stay as they are.
    package let conversion: ValueConversion?
    /// True if a decision asks for the conversion, so that it may round; otherwise each value must survive it.
    package let isStated: Bool
    /// The treatment of a value that can't be converted.
    package let fallback: Fallback
    /// The value that objects without one get; null if they stay without.
    package let missing: Value
    /// True if an object without a value blocks the migration.
    package let needsValue: Bool
  }

  /// The treatment of a value that can't be converted.
  package enum Fallback: Sendable, Hashable {
    case refuse
    case replace(Value)
  }

  /// The origin of the values of a destination entity's attribute; nil if it has no column.
  package func attributeMapping(of property: Property, in entity: Entity) -> AttributeMapping? {
    guard let attribute = property.attribute, property.isPersistent else { return nil }
    let origin = origin(of: property, in: entity).flatMap { $0.isPersistent && $0.attribute != nil ? $0 : nil }
    let isComputed = attribute.derivation != nil
    let stated = isComputed ? nil : choices.conversion(of: property, in: entity)
    let conversion = origin?.attribute.flatMap { former -> ValueConversion? in
      guard !isComputed, let conversion = ValueConversion(from: former.type, to: attribute.type) else { return nil }
      return conversion.isWidening ? nil : conversion
    }
    let isHandled = entities[entity.index].map { choices.isHandled($0.name) } ?? false
    let fallback: Fallback =
      switch stated {
      // What does not survive is left to the code.
      case nil: isHandled ? .replace(.null) : .refuse
      case .refuse: .refuse
      case .nothing: .replace(.null)
      case .value(let text): .replace(Value(written: text, as: attribute.type) ?? .null)
      }
    let chosen = choices.defaultText(of: property, in: entity).flatMap { Value(written: $0, as: attribute.type) }
    let canLack = origin?.isOptional ?? true || fallback == .replace(.null)
    let isRequired = !attribute.isOptional && !isComputed
    var missing = chosen ?? .null
    if missing.isNull, !isComputed, origin == nil || isRequired && canLack {
      missing = attribute.defaultValue.converted(to: attribute.type) ?? .null
    }
    return AttributeMapping(
      origin: origin, conversion: conversion, isStated: stated != nil, fallback: fallback, missing: missing,
      needsValue: isRequired && canLack && missing.isNull && !isHandled)
  }
}
