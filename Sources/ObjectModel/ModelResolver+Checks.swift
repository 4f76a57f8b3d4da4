import Foundation

/// Checks of the descriptions against each other.
extension ModelResolver {
  func checkValues(of attribute: AttributeDescription, entity: String) throws(ModelError) {
    func fail(_ code: ModelError.Code, _ message: String) -> ModelError {
      ModelError(code, message, file: file, entity: entity, property: attribute.name)
    }
    guard attribute.defaultValue.isNull || attribute.defaultValue.fits(attribute.type) else {
      throw fail(.invalidValue, "the default \(attribute.defaultValue) is no \(attribute.type.rawValue)")
    }
    if let pattern = attribute.pattern, (try? NSRegularExpression(pattern: pattern)) == nil {
      throw fail(.invalidValue, "the regular expression \"\(pattern)\" can't be read")
    }
    if attribute.minimum.exceeds(attribute.maximum) {
      throw fail(.contradiction, "the minimum is greater than the maximum")
    }
  }

  func tieRelationships(of entity: Entity) throws(ModelError) {
    for property in entity.properties {
      guard let relationship = property.relationship else { continue }
      func fail(_ code: ModelError.Code, _ message: String) -> ModelError {
        ModelError(code, message, file: file, entity: entity.name, property: property.name)
      }
      guard !relationship.destinationEntity.isEmpty else {
        throw fail(.unresolvedReference, "the relationship has no destination entity")
      }
      guard let destination = resolved[relationship.destinationEntity] else {
        throw fail(
          .unresolvedReference, "the destination entity \"\(relationship.destinationEntity)\" does not exist")
      }
      property.destination = destination
      if relationship.maximumCount > 0, relationship.minimumCount > relationship.maximumCount {
        throw fail(.contradiction, "the minimum count is greater than the maximum count")
      }
      guard let inverseName = relationship.inverse, !inverseName.isEmpty else {
        continue
      }
      let spelling = "\(destination.name).\(inverseName)"
      guard let inverse = destination.property(named: inverseName), let back = inverse.relationship else {
        throw fail(.unresolvedReference, "the inverse \"\(spelling)\" is no relationship")
      }
      guard let backName = back.inverse, !backName.isEmpty else {
        throw fail(.contradiction, "its inverse \"\(spelling)\" has no inverse; set it to \"\(property.name)\"")
      }
      guard backName == property.name, resolved[back.destinationEntity].map(entity.isKind) ?? false else {
        throw fail(
          .contradiction, "its inverse \"\(spelling)\" has the inverse \"\(back.destinationEntity).\(backName)\"")
      }
      property.inverse = inverse
      property.orderProperty = entity.property(named: Self.orderName(of: property.name)).flatMap {
        $0.isHidden ? $0 : nil
      }
    }
  }

  func checkReferences(of entity: Entity) throws(ModelError) {
    let description = entity.entityDescription
    func checkStored(_ name: String, _ owner: String) throws(ModelError) {
      let property = entity.property(named: name)
      guard property?.isPersistent != true else { return }
      let reason = property == nil ? "which does not exist" : "which has no column"
      throw ModelError(
        .unresolvedReference, "\(owner) names \"\(name)\", \(reason)", file: file, entity: entity.name,
        property: property?.name)
    }
    for constraint in description.uniquenessConstraints {
      guard !constraint.isEmpty else {
        throw ModelError(.contradiction, "a uniqueness constraint names no property", file: file, entity: entity.name)
      }
      for name in constraint { try checkStored(name, "a uniqueness constraint") }
    }
    for index in description.fetchIndexes {
      for element in index.elements where element.property != "self" {
        try checkStored(element.property, "the index \"\(index.name)\"")
      }
    }
    for fetched in description.fetchedProperties {
      let error = { (code: ModelError.Code, message: String) in
        ModelError(code, message, file: file, entity: entity.name, property: fetched.name)
      }
      guard entity.property(named: fetched.name) == nil else {
        throw error(.invalidName, "the property is defined twice")
      }
      guard resolved[fetched.entity] != nil else {
        throw error(.unresolvedReference, "fetches the entity \"\(fetched.entity)\", which does not exist")
      }
    }
  }
}

extension Value {
  /// True if both are set and this one is greater.
  fileprivate func exceeds(_ other: Value) -> Bool {
    switch (self, other) {
    case (.integer(let left), .integer(let right)): left > right
    case (.double(let left), .double(let right)): left > right
    case (.decimal(let left), .decimal(let right)): left > right
    case (.date(let left), .date(let right)): left > right
    default: false
    }
  }
}
