/// Turns descriptions into entities: checks names, orders families, assigns slots, ties relationships, hashes.
struct ModelResolver {
  private let descriptions: [String: EntityDescription]
  private let order: [String]
  private let duplicate: String?
  private let classes: [String: AnyClass]
  private let file: String?
  private var resolved: [String: Entity] = [:]
  private var entities: [Entity] = []

  init(_ descriptions: [EntityDescription], classes: [String: AnyClass], file: String?) {
    var byName: [String: EntityDescription] = [:]
    var duplicate: String?
    for description in descriptions where byName.updateValue(description, forKey: description.name) != nil {
      duplicate = duplicate ?? description.name
    }
    self.descriptions = byName
    self.duplicate = duplicate
    order = descriptions.map(\.name)
    self.classes = classes
    self.file = file
  }

  mutating func resolve() throws(ModelError) -> [Entity] {
    if let duplicate {
      throw ModelError(.invalidName, "the entity is defined twice", file: file, entity: duplicate)
    }
    for name in order { _ = try entity(named: name, heirs: []) }
    for entity in entities { try tieRelationships(of: entity) }
    for entity in entities { try checkReferences(of: entity) }
    for entity in entities { entity.versionHash = hash(of: entity) }
    return entities
  }

  private mutating func entity(named name: String, heirs: [String]) throws(ModelError) -> Entity {
    if let entity = resolved[name] { return entity }
    guard let description = descriptions[name] else {
      throw ModelError(
        .unresolvedReference, "inherits from the entity \"\(name)\", which does not exist", file: file,
        entity: heirs.last)
    }
    if heirs.contains(name) {
      throw ModelError(
        .contradiction, "inherits from itself (\((heirs + [name]).joined(separator: " < ")))", file: file, entity: name)
    }
    try checkName(name, "an entity", entity: name, property: nil)
    var parent: Entity?
    if let parentName = description.parent { parent = try entity(named: parentName, heirs: heirs + [name]) }
    let entity = Entity(
      description, index: entities.count, properties: try properties(of: description, parent: parent), parent: parent,
      objectClass: description.className.flatMap { classes[$0] })
    parent?.children.append(entity)
    resolved[name] = entity
    entities.append(entity)
    return entity
  }

  private func properties(of description: EntityDescription, parent: Entity?) throws(ModelError) -> [Property] {
    // Inherited properties are made anew: a subentity's relationship may be tied to another destination's slot.
    var kinds = parent?.properties.map { ($0.kind, $0.declaringEntity) } ?? []
    kinds += description.attributes.map { (Property.Kind.attribute($0), description.name) }
    kinds += description.relationships.map { (Property.Kind.relationship($0), description.name) }
    var names: Set<String> = []
    var properties: [Property] = []
    for (slot, (kind, declaringEntity)) in kinds.enumerated() {
      let property = Property(kind, slot: slot, declaringEntity: declaringEntity)
      try checkName(property.name, "a property", entity: description.name, property: property.name)
      guard names.insert(property.name).inserted else {
        throw ModelError(
          .invalidName, "the property is defined twice", file: file, entity: description.name, property: property.name)
      }
      if case .attribute(let attribute) = kind { try checkValues(of: attribute, entity: description.name) }
      properties.append(property)
    }
    return properties
  }

  private func checkName(_ name: String, _ what: String, entity: String, property: String?) throws(ModelError) {
    let valid =
      name.first.map { $0.isLetter } == true && name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
    guard valid else {
      throw ModelError(
        .invalidName, "\"\(name)\" can't name \(what): a name begins with a letter and has letters, digits and _ only",
        file: file, entity: entity, property: property)
    }
  }

  private func checkValues(of attribute: AttributeDescription, entity: String) throws(ModelError) {
    guard attribute.defaultValue.isNull || attribute.defaultValue.fits(attribute.type) else {
      throw ModelError(
        .invalidValue, "the default \(attribute.defaultValue) is no \(attribute.type.rawValue)", file: file,
        entity: entity, property: attribute.name)
    }
    if let pattern = attribute.pattern, (try? Regex(pattern)) == nil {
      throw ModelError(
        .invalidValue, "the regular expression \"\(pattern)\" can't be read", file: file, entity: entity,
        property: attribute.name)
    }
  }

  private func tieRelationships(of entity: Entity) throws(ModelError) {
    for property in entity.properties {
      guard let relationship = property.relationship else { continue }
      guard let destination = resolved[relationship.destinationEntity] else {
        let message =
          relationship.destinationEntity.isEmpty
          ? "the relationship has no destination entity"
          : "the destination entity \"\(relationship.destinationEntity)\" does not exist"
        throw ModelError(.unresolvedReference, message, file: file, entity: entity.name, property: property.name)
      }
      property.destination = destination
      guard let inverseName = relationship.inverse else { continue }
      guard let inverse = destination.property(named: inverseName), let back = inverse.relationship else {
        throw ModelError(
          .unresolvedReference, "the inverse \"\(destination.name).\(inverseName)\" is no relationship", file: file,
          entity: entity.name, property: property.name)
      }
      guard back.inverse == nil || back.inverse == property.name else {
        throw ModelError(
          .contradiction,
          "its inverse \"\(destination.name).\(inverseName)\" has the inverse \"\(back.inverse ?? "")\"", file: file,
          entity: entity.name, property: property.name)
      }
      property.inverse = inverse
    }
  }

  private func checkReferences(of entity: Entity) throws(ModelError) {
    let description = entity.entityDescription
    for constraint in description.uniquenessConstraints {
      for name in constraint where entity.property(named: name) == nil {
        throw ModelError(
          .unresolvedReference, "a uniqueness constraint names \"\(name)\", which does not exist", file: file,
          entity: entity.name)
      }
    }
    for index in description.fetchIndexes {
      for element in index.elements where entity.property(named: element.property) == nil && element.property != "self" {
        throw ModelError(
          .unresolvedReference, "the index \"\(index.name)\" names \"\(element.property)\", which does not exist",
          file: file, entity: entity.name)
      }
    }
  }

  /// What migration must know of an entity: names, types, optionality, inheritance, relationships' shape, constraints.
  private func hash(of entity: Entity) -> VersionHash {
    let description = entity.entityDescription
    var hash = VersionHash()
    hash.combine("entity 1 \(entity.name) \(entity.isAbstract) \(description.versionHashModifier ?? "")")
    hash.combine(entity.parent?.versionHashName ?? "")
    for property in entity.properties.sorted(by: { $0.name < $1.name }) {
      switch property.kind {
      case .attribute(let attribute):
        let flags = "\(attribute.isOptional) \(attribute.isTransient) \(attribute.allowsExternalBinaryDataStorage)"
        hash.combine("attribute \(attribute.name) \(attribute.type.rawValue) \(flags) \(attribute.derivation ?? "")")
        hash.combine(attribute.versionHashModifier ?? "")
      case .relationship(let relationship):
        let shape = "\(relationship.isToMany) \(relationship.isOrdered) \(relationship.isOptional)"
        let ends = "\(relationship.destinationEntity) \(relationship.inverse ?? "")"
        hash.combine("relationship \(relationship.name) \(ends) \(shape) \(relationship.isTransient)")
        hash.combine("\(relationship.minimumCount) \(relationship.maximumCount)")
        hash.combine(relationship.versionHashModifier ?? "")
      }
    }
    for constraint in description.uniquenessConstraints.map({ $0.joined(separator: ",") }).sorted() {
      hash.combine("unique \(constraint)")
    }
    return hash
  }
}

extension Entity {
  fileprivate var versionHashName: String { (parent.map { $0.versionHashName + "/" } ?? "") + name }
}
