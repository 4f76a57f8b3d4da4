import ObjectModel
import TextSupport

/// A column of the input and the attribute that its values go into.
struct ImportColumn {
  /// The place in the record, from 0.
  let position: Int
  let property: Property
  let attribute: AttributeDescription

  init(position: Int, property: Property, attribute: AttributeDescription) {
    self.position = position
    self.property = property
    self.attribute = attribute
  }

  /// Why values can't be imported into a property of that name; nil if they can.
  static func problem(_ name: String, _ entity: Entity) -> String? {
    guard let property = entity.property(named: name) else {
      let known = entity.properties.compactMap { $0.attribute?.name }
      let nearest = NearestName.find(name, in: known).map { "; did you mean \"\($0)\"?" } ?? ""
      return "the entity \"\(entity.name)\" has no attribute \"\(name)\"\(nearest)"
    }
    guard let attribute = property.attribute else {
      return "\"\(entity.name).\(name)\" is a relationship, which imports of this version can't fill"
    }
    switch attribute.type {
    case .binary, .transformable:
      return "\"\(entity.name).\(name)\" is \(attribute.type.rawValue), which no CSV column holds"
    default:
      return attribute.isTransient || attribute.derivation != nil
        ? "\"\(entity.name).\(name)\" is not stored or derived, so that it can't be imported" : nil
    }
  }
}
