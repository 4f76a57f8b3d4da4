/// Repairs a model file's descriptions as Core Data does, so that a model an app was built with can be used.
///
/// Repaired are contradictions and names of what does not exist; each repair is a warning.
///
/// Only mistakes with one sensible meaning are repaired. Descriptions in code are not: there they are errors.
struct ModelMending {
  private(set) var entities: [EntityDescription]
  private(set) var warnings: [ModelError] = []
  private let places: [String: Int]

  private let indexed: Set<String>

  /// - Parameter indexed: The properties ("Entity.property") that are marked as indexed.
  init(_ entities: [EntityDescription], indexed: Set<String>) {
    self.entities = entities
    self.indexed = indexed
    places = Dictionary(entities.enumerated().map { ($1.name, $0) }) { first, _ in first }
    dropUnreachable()
    completeInverses()
    dropContradictingInverses()
    makeOldIndexes()
    for place in self.entities.indices { mendIndexes(of: place) }
  }

  private mutating func warn(
    _ code: ModelError.Code, _ message: String, entity: String? = nil, property: String? = nil
  ) {
    warnings.append(ModelError(code, message, entity: entity, property: property))
  }

  // MARK: What leads nowhere

  /// Drops relationships without a destination, and fetched properties whose entity does not exist.
  private mutating func dropUnreachable() {
    for place in entities.indices {
      let entity = entities[place]
      for relationship in entity.relationships where relationship.destinationEntity.isEmpty {
        warn(
          .unresolvedReference, "the relationship has no destination entity and is ignored", entity: entity.name,
          property: relationship.name)
      }
      entities[place].relationships.removeAll(where: \.destinationEntity.isEmpty)
      for fetched in entity.fetchedProperties where places[fetched.entity] == nil {
        warn(
          .unresolvedReference,
          "fetches the entity \"\(fetched.entity)\", which does not exist, and is ignored", entity: entity.name,
          property: fetched.name)
      }
      entities[place].fetchedProperties.removeAll { places[$0.entity] == nil }
      if entity.uniquenessConstraints.contains(where: \.isEmpty) {
        warn(.contradiction, "a uniqueness constraint names no property and is ignored", entity: entity.name)
      }
      entities[place].uniquenessConstraints.removeAll(where: \.isEmpty)
    }
  }

  /// Returns the fetch requests of entities that exist.
  mutating func existing(_ templates: [FetchRequestTemplate]) -> [FetchRequestTemplate] {
    for template in templates where places[template.entity] == nil {
      warn(
        .unresolvedReference,
        "the fetch request \"\(template.name)\" is of the entity \"\(template.entity)\", which does not exist; it is "
          + "ignored")
    }
    return templates.filter { places[$0.entity] != nil }
  }

  /// Returns the configurations with the members that exist.
  mutating func existing(_ configurations: [String: [String]]) -> [String: [String]] {
    for (name, members) in configurations.sorted(by: { $0.key < $1.key }) {
      for member in members where places[member] == nil {
        warn(
          .unresolvedReference,
          "configuration \"\(name)\" lists the entity \"\(member)\", which does not exist; it is ignored")
      }
    }
    return configurations.mapValues { $0.filter { places[$0] != nil } }
  }

  // MARK: Inverses

  /// A relationship's place among the descriptions.
  private struct Place: Hashable {
    let entity: Int
    let relationship: Int
  }

  private subscript(_ place: Place) -> RelationshipDescription {
    get { entities[place.entity].relationships[place.relationship] }
    set { entities[place.entity].relationships[place.relationship] = newValue }
  }

  private var allRelationships: [Place] {
    entities.indices.flatMap { entity in
      entities[entity].relationships.indices.map { Place(entity: entity, relationship: $0) }
    }
  }

  /// The entity and those that it inherits from, nearest first; as far as they exist, each once.
  private func ancestry(of name: String) -> [Int] {
    var found: [Int] = []
    var next = places[name]
    while let place = next, !found.contains(place) {
      found.append(place)
      next = entities[place].parent.flatMap { places[$0] }
    }
    return found
  }

  private func isKind(_ entity: Int, of name: String) -> Bool {
    places[name].map(ancestry(of: entities[entity].name).contains) ?? false
  }

  /// The relationship that another one names as its inverse; nil if there is none of that name.
  private func inverse(of relationship: RelationshipDescription) -> Place? {
    guard let name = relationship.inverse else { return nil }
    for entity in ancestry(of: relationship.destinationEntity) {
      if let index = entities[entity].relationships.firstIndex(where: { $0.name == name }) {
        return Place(entity: entity, relationship: index)
      }
    }
    return nil
  }

  /// Completes pairs in which only one end names the other.
  private mutating func completeInverses() {
    for place in allRelationships {
      if self[place].inverse?.isEmpty == true { self[place].inverse = nil }
    }
    for place in allRelationships {
      guard let other = inverse(of: self[place]), self[other].inverse == nil,
        isKind(place.entity, of: self[other].destinationEntity)
      else { continue }
      self[other].inverse = self[place].name
      warn(
        .contradiction,
        "has no inverse but is that of \"\(entities[place.entity].name).\(self[place].name)\", which becomes its "
          + "inverse", entity: entities[other.entity].name, property: self[other].name)
    }
  }

  /// Drops inverses that have another inverse, until only pairs are left.
  private mutating func dropContradictingInverses() {
    var isDone = false
    while !isDone {
      isDone = true
      for place in allRelationships {
        let relationship = self[place]
        guard let name = relationship.inverse else { continue }
        let owner = entities[place.entity].name
        let spelling = "\(relationship.destinationEntity).\(name)"
        guard let other = inverse(of: relationship) else {
          // A destination that does not exist is an error of its own.
          if places[relationship.destinationEntity] == nil { continue }
          warn(
            .unresolvedReference, "its inverse \"\(spelling)\" is no relationship; it has no inverse then",
            entity: owner, property: relationship.name)
          self[place].inverse = nil
          isDone = false
          continue
        }
        let back = self[other]
        if back.inverse == relationship.name, isKind(place.entity, of: back.destinationEntity) { continue }
        let has = back.inverse.map { "has the inverse \"\(back.destinationEntity).\($0)\"" } ?? "has none"
        warn(
          .contradiction, "its inverse \"\(spelling)\" \(has); it has no inverse then", entity: owner,
          property: relationship.name)
        self[place].inverse = nil
        isDone = false
      }
    }
  }

  // MARK: Indexes

  /// Makes the indexes that the editor's "indexed" meant before it had fetch indexes: one for each property.
  private mutating func makeOldIndexes() {
    for place in entities.indices {
      let entity = entities[place]
      let attributes = entity.attributes.filter { !$0.isTransient }.map(\.name)
      let relationships = entity.relationships.filter { !$0.isTransient && !$0.isToMany }.map(\.name)
      for name in attributes + relationships where indexed.contains("\(entity.name).\(name)") {
        entities[place].addIndex(over: [name])
      }
    }
  }

  /// Drops index elements that can't be indexed, as Core Data does: to-many relationships and properties not stored.
  private mutating func mendIndexes(of place: Int) {
    let name = entities[place].name
    for (number, index) in entities[place].fetchIndexes.enumerated() {
      let elements = index.elements.filter { element in
        guard let reason = reasonAgainst(element.property, place) else { return true }
        warn(
          .unresolvedReference,
          "the index \"\(index.name)\" names \"\(element.property)\", \(reason); it is ignored",
          entity: name)
        return false
      }
      entities[place].fetchIndexes[number].elements = elements
    }
    entities[place].fetchIndexes.removeAll(where: \.elements.isEmpty)
  }

  /// The reason why a property can't be indexed; nil if it can.
  private func reasonAgainst(_ property: String, _ place: Int) -> String? {
    if property == "self" { return nil }
    for ancestor in ancestry(of: entities[place].name) {
      let entity = entities[ancestor]
      if let attribute = entity.attributes.first(where: { $0.name == property }) {
        return attribute.isTransient ? "which is not stored" : nil
      }
      if let relationship = entity.relationships.first(where: { $0.name == property }) {
        return relationship.isToMany ? "which is to-many" : relationship.isTransient ? "which is not stored" : nil
      }
    }
    return "which does not exist"
  }
}

extension EntityDescription {
  /// Adds an index with the name that the editor would give it, unless there is an equal one.
  mutating func addIndex(over properties: [String]) {
    let elements = properties.map { FetchIndex.Element(property: $0) }
    if fetchIndexes.contains(where: { $0.elements == elements }) { return }
    var name = "by" + properties.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined() + "Index"
    while fetchIndexes.contains(where: { $0.name == name }) { name += "_" }
    fetchIndexes.append(FetchIndex(name: name, elements: elements))
  }
}
