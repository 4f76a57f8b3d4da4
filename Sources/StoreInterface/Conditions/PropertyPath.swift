package import ObjectModel
import TextSupport

/// A key path that exists: to-one relationships, and at its end an attribute or a to-one relationship.
package struct PropertyPath: Sendable {
  /// At least one.
  package let properties: [Property]

  package var last: Property { properties[properties.count - 1] }
  /// The relationships to go through.
  package var relationships: ArraySlice<Property> { properties.dropLast() }

  /// The type of the path's values.
  package var type: OperandType {
    if let attribute = last.attribute { return OperandType(attribute.type) }
    return last.destination.map(OperandType.init(objectsOf:)) ?? .null
  }

  /// Finds the properties.
  ///
  /// - Parameter includesTransient: whether transient attributes have values where the path is followed.
  /// - Throws: ``ConditionError`` that names the entity, the missing property and the one nearest to it, or the property
  ///   that no store can be asked for.
  package init(_ names: [String], from entity: Entity, includesTransient: Bool = false) throws {
    let fragment = names.joined(separator: ".")
    var properties: [Property] = []
    var entity = entity
    for (index, name) in names.enumerated() {
      guard let property = entity.property(named: name) else {
        throw ConditionError(.unknownProperty, Self.message(name, entity), fragment: fragment)
      }
      properties.append(property)
      if property.storage == .toMany {
        throw ConditionError(
          .unsupported,
          "\(entity.name).\(name) is a to-many relationship, which takes ANY, ALL, NONE, @count or SUBQUERY",
          fragment: fragment)
      }
      guard property.isPersistent || includesTransient else {
        throw ConditionError(
          .unsupported, "\(entity.name).\(name) is transient, so a store knows nothing of it", fragment: fragment)
      }
      if index == names.count - 1 { break }
      guard let destination = property.destination else {
        throw ConditionError(
          .unknownProperty, "\(entity.name).\(name) is an attribute, so nothing can follow it in a key path",
          fragment: fragment)
      }
      entity = destination
    }
    guard !properties.isEmpty else {
      throw ConditionError(.unknownProperty, "a key path without a property; the object itself is SELF")
    }
    self.properties = properties
  }

  package static func message(_ name: String, _ entity: Entity) -> String {
    var message = "\(entity.name) has no property \"\(name)\""
    if let nearest = NearestName.find(name, in: entity.properties.map(\.name)) {
      message += "; did you mean \"\(nearest)\"?"
    }
    return message
  }
}
