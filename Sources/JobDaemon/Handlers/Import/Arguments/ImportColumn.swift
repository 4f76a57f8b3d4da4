import ObjectModel
import TextSupport

/// A column of the input, or a constant, and the property that its values go into.
struct ImportColumn: Sendable {
  /// What a relationship does with a value that no object has.
  enum Missing: String, CaseIterable, Sendable {
    case reject
    case create
    case null
  }

  enum Target: Sendable {
    case attribute(AttributeDescription)
    /// An object that has the value in an attribute.
    case relationship(key: Property, attribute: AttributeDescription, missing: Missing)
  }

  /// The place in the record, from 0; nil for a constant.
  var position: Int?
  /// What the input calls it.
  var label: String
  let property: Property
  let target: Target
  let rules: ValueRules
  let constant: [UInt8]?

  init(
    position: Int? = nil, label: String, property: Property, target: Target, rules: ValueRules,
    constant: [UInt8]? = nil
  ) {
    self.position = position
    self.label = label
    self.property = property
    self.target = target
    self.rules = rules
    self.constant = constant
  }

  /// The attribute whose type the values have: of a relationship, the key of the other entity.
  var attribute: AttributeDescription {
    switch target {
    case .attribute(let attribute): attribute
    case .relationship(_, let attribute, _): attribute
    }
  }

  /// The slot of the values that are read, in rows of the property's entity or, for a relationship, of the other one.
  var valueSlot: Int { if case .relationship(let key, _, _) = target { key.slot } else { property.slot } }

  /// Why values can't be imported into an attribute of that name; nil if they can.
  static func problem(_ name: String, _ entity: Entity) -> String? {
    guard let property = entity.property(named: name) else {
      let known = entity.properties.compactMap { $0.isHidden ? nil : $0.name }
      let nearest = NearestName.find(name, in: known).map { "; did you mean \"\($0)\"?" } ?? ""
      return "the entity \"\(entity.name)\" has no attribute \"\(name)\"\(nearest)"
    }
    guard let attribute = property.attribute else {
      return "\"\(entity.name).\(name)\" is a relationship; say {\"relationship\": \"\(name)\", \"key\": …} with an "
        + "attribute of \"\(property.destination?.name ?? "")\" to find its objects by"
    }
    switch attribute.type {
    case .binary, .transformable:
      return "\"\(entity.name).\(name)\" is \(attribute.type.rawValue), which no column holds"
    default:
      return attribute.isTransient || attribute.derivation != nil
        ? "\"\(entity.name).\(name)\" is not stored or derived, so that it can't be imported" : nil
    }
  }
}
