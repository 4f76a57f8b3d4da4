/// The model of a store that programs with several versions of theirs have open at the same time.
///
/// It has what the version of the one that opens it has, and what the others have beyond that, as far as rows that this
/// one writes stay valid for them: optional attributes, attributes whose column has a default, and whole families. What a
/// program of the former version would not understand in rows of the new one can be done only while none has the store open.
package struct ModelUnion {
  package let model: ManagedObjectModel
  /// The changes that programs with the former model would not understand, a sentence for each; empty if they go on.
  package let changesInPlace: [String]

  /// - Parameters:
  ///   - former: the model that the store has.
  ///   - model: the model of the program that opens it.
  ///   - isFilled: tells whether the store gives an attribute of the former model a value where a new row has none.
  /// - Throws: ``ModelError`` if the models contradict each other in a way that no model can have.
  package init(
    of former: ManagedObjectModel, and model: ManagedObjectModel, isFilled: (Entity, Property) -> Bool
  ) throws(ModelError) {
    let mapping = MappingInference(from: former, to: model)
    var changes: [String] = []
    var descriptions: [EntityDescription] = []
    for entity in model.entities {
      var description = entity.entityDescription
      if let origin = mapping.entities[entity.index] {
        let comparison = Comparison(of: entity, from: origin, mapping, isFilled: isFilled)
        description.attributes += comparison.kept
        changes += comparison.changes
      } else if let change = Self.changeByAdding(entity, mapping) {
        changes.append(change)
      }
      descriptions.append(description)
    }
    let kept = Self.keptEntities(of: former, mapping)
    let gone = former.entities.filter { entity in mapping.successor(of: entity) == nil && !kept.contains(entity.name) }
    changes += gone.map { "\($0.name) goes" }
    descriptions += former.entities.filter { kept.contains($0.name) }.map(\.entityDescription)
    self.model = try ManagedObjectModel(descriptions)
    changesInPlace = changes
  }

  /// The reason why a new entity can't come while others work with the former model; nil if it can.
  private static func changeByAdding(_ entity: Entity, _ mapping: MappingInference) -> String? {
    if mapping.entities[entity.rootIndex] != nil { return "\(entity.name) joins the family of \(entity.root.name)" }
    // Whoever does not know the relationship leaves references behind to what it deletes.
    let link = entity.properties.first { property in
      property.destination.map { mapping.entities[$0.index] != nil } ?? false
    }
    return link.map { "\(entity.name).\($0.name), which leads to \($0.destination?.name ?? ""), is new" }
  }

  /// The former entities without a successor that can stay as they are: whole families whose relationships lead to
  /// entities that are still there, and have their inverses.
  private static func keptEntities(of former: ManagedObjectModel, _ mapping: MappingInference) -> Set<String> {
    let new = mapping.destination
    var kept = Set(
      former.entities.filter { entity in
        entity.root.withDescendants.allSatisfy {
          mapping.successor(of: $0) == nil && new.entitiesByName[$0.name] == nil
        }
      }.map(\.name))
    func isComplete(_ property: Property) -> Bool {
      guard let destination = property.destination, !kept.contains(destination.name) else { return true }
      guard let successor = mapping.successor(of: destination), successor.name == destination.name else { return false }
      return property.inverse.map { successor.property(named: $0.name) != nil } ?? true
    }
    while true {
      let broken = former.entities.filter { entity in
        kept.contains(entity.name) && !entity.root.withDescendants.allSatisfy { $0.properties.allSatisfy(isComplete) }
      }
      if broken.isEmpty { return kept }
      kept.subtract(broken.map(\.name))
    }
  }

  /// The differences of an entity from the one that it comes from.
  private struct Comparison {
    /// The attributes that it does not have any more, and that rows keep.
    private(set) var kept: [AttributeDescription] = []
    private(set) var changes: [String] = []

    init(
      of entity: Entity, from former: Entity, _ mapping: MappingInference, isFilled: (Entity, Property) -> Bool
    ) {
      if entity.name != former.name { changes.append("\(former.name) becomes \(entity.name)") }
      if entity.parent.map({ mapping.entities[$0.index]?.name ?? "" }) != former.parent?.name {
        changes.append("\(entity.name) has another parent")
      }
      if entity.isAbstract != former.isAbstract { changes.append("\(entity.name) is abstract, or is so no more") }
      let constraints = (entity.entityDescription, former.entityDescription)
      if Set(constraints.0.uniquenessConstraints) != Set(constraints.1.uniquenessConstraints) {
        changes.append("the uniqueness constraints of \(entity.name) are others")
      }
      var taken: Set<String> = []
      for property in entity.properties where !property.isHidden && property.declaringEntity == entity.name {
        let origin = mapping.origin(of: property, in: entity)
        if let origin { taken.insert(origin.name) }
        if let change = Self.change(of: property, from: origin) {
          changes.append("\(entity.name).\(property.name) \(change)")
        }
      }
      for property in former.properties where !property.isHidden && property.declaringEntity == former.name {
        if taken.contains(property.name) || property.isTransient { continue }
        let canStay = property.isOptional || isFilled(former, property)
        if let attribute = property.attribute, attribute.derivation == nil, canStay,
          entity.property(named: property.name) == nil
        {
          kept.append(attribute)
        } else {
          changes.append("\(former.name).\(property.name) goes")
        }
      }
    }

    /// The words for a change that others do not understand; nil if they do.
    private static func change(of property: Property, from origin: Property?) -> String? {
      if property.isTransient { return origin?.isTransient == false ? "is not stored any more" : nil }
      guard let origin, !origin.isTransient else {
        guard let attribute = property.attribute else { return "is new, and a relationship" }
        if attribute.derivation != nil { return "is new, and derived from others" }
        return attribute.isOptional || !attribute.defaultValue.isNull ? nil : "is new, and required without a default"
      }
      if origin.name != property.name { return "was \(origin.name)" }
      return Shape(property) == Shape(origin) ? nil : "has another type, or other rules"
    }
  }

  /// The part of a property that matters to whoever writes and reads rows, as in an entity's version hash.
  private struct Shape: Equatable {
    private let isAttribute: Bool
    private let words: [String]

    init(_ property: Property) {
      switch property.kind {
      case .attribute(let attribute):
        isAttribute = true
        words = [
          attribute.type.rawValue, "\(attribute.isOptional)", "\(attribute.allowsExternalBinaryDataStorage)",
          attribute.derivation ?? "", attribute.versionHashModifier ?? "",
        ]
      case .relationship(let relationship):
        isAttribute = false
        words = [
          relationship.destinationEntity, relationship.inverse ?? "", "\(relationship.isToMany)",
          "\(relationship.isOrdered)", "\(relationship.isOptional)", "\(relationship.isTransient)",
          "\(relationship.minimumCount)", "\(relationship.maximumCount)", relationship.versionHashModifier ?? "",
        ]
      }
    }
  }
}
