/// How the entities and properties of a model come from those of an earlier one, as far as names and types tell it.
///
/// An entity or property comes from the one that its renaming identifier names, from the one with the same renaming
/// identifier, or from the one with the same name.
package struct MappingInference: Sendable {
  package let source: ManagedObjectModel
  package let destination: ManagedObjectModel
  /// What can't be inferred, one sentence each.
  package private(set) var problems: [String] = []
  /// The source of each entity, by the index of the destination entity; nil for a new one.
  package private(set) var entities: [Entity?]
  /// The sources of properties by the index of the destination entity and the slot.
  private var properties: [[Property?]]

  package init(from source: ManagedObjectModel, to destination: ManagedObjectModel) {
    self.source = source
    self.destination = destination
    let pairs = Self.match(
      destination.entities.map { Name($0.name, $0.entityDescription.renamingIdentifier) },
      source.entities.map { Name($0.name, $0.entityDescription.renamingIdentifier) })
    entities = pairs.map { $0.map { source.entities[$0] } }
    properties = []
    for entity in destination.entities {
      guard let origin = entities[entity.index] else {
        properties.append(Array(repeating: nil, count: entity.properties.count))
        continue
      }
      let pairs = Self.match(entity.properties.map(Name.init), origin.properties.map(Name.init))
      properties.append(pairs.map { $0.map { origin.properties[$0] } })
    }
    for entity in destination.entities { check(entity) }
  }

  /// What a property of a destination entity comes from; nil if it is new.
  package func origin(of property: Property, in entity: Entity) -> Property? {
    if let origin = properties[entity.index][property.slot] { return origin }
    // What the library keeps for a relationship follows its name.
    guard property.name.hasPrefix(Self.orderPrefix) else { return nil }
    let relationship = entity.property(named: String(property.name.dropFirst(Self.orderPrefix.count)))
    guard let former = relationship.flatMap({ properties[entity.index][$0.slot] }) else { return nil }
    return entities[entity.index]?.property(named: Self.orderPrefix + former.name)
  }

  private static let orderPrefix = "_order_"

  /// What an entity of the source becomes; nil if it is no more.
  package func successor(of entity: Entity) -> Entity? {
    entities.firstIndex { $0 === entity }.map { destination.entities[$0] }
  }

  private struct Name {
    let name: String
    let identifier: String?

    init(_ name: String, _ identifier: String?) {
      self.name = name
      self.identifier = identifier.flatMap { $0.isEmpty ? nil : $0 }
    }

    init(_ property: Property) {
      self.init(
        property.name, property.attribute?.renamingIdentifier ?? property.relationship?.renamingIdentifier)
    }

    var canonical: String { identifier ?? name }
  }

  /// For each new name the index of the old one it comes from; each old one is taken once, explicit renaming first.
  private static func match(_ new: [Name], _ old: [Name]) -> [Int?] {
    var result = [Int?](repeating: nil, count: new.count)
    var isTaken = [Bool](repeating: false, count: old.count)
    let byName = Dictionary(old.enumerated().map { ($1.name, $0) }) { first, _ in first }
    let byCanonical = Dictionary(old.enumerated().map { ($1.canonical, $0) }) { first, _ in first }
    func take(_ find: (Name) -> Int?) {
      for (place, name) in new.enumerated() where result[place] == nil {
        guard let found = find(name), !isTaken[found] else { continue }
        result[place] = found
        isTaken[found] = true
      }
    }
    take { name in name.identifier.flatMap { $0 == name.name ? nil : byName[$0] } }
    take { name in name.identifier.flatMap { byCanonical[$0] } }
    take { name in byCanonical[name.name].flatMap { old[$0].name == name.name ? $0 : nil } }
    take { byName[$0.name] }
    take { byCanonical[$0.name] }
    return result
  }

  // MARK: What can't be inferred

  private mutating func check(_ entity: Entity) {
    // A new entity has no rows, so there is nothing to be filled in.
    guard entities[entity.index] != nil else { return }
    for property in entity.properties where entity.parent?.property(named: property.name) == nil || isFirst(entity) {
      let spelling = "\(entity.name).\(property.name)"
      switch (property.kind, origin(of: property, in: entity)?.kind) {
      case (.attribute(let new), let old): check(new, old, spelling)
      case (.relationship(let new), .relationship(let old)?): check(new, old, spelling)
      case (.relationship, .attribute?):
        problems.append("\(spelling) was an attribute and is a relationship now; give it another name")
      case (.relationship(let new), nil):
        if !new.isToMany && !new.isOptional && !new.isTransient {
          problems.append("\(spelling) is new and not optional, so the objects there are would need a destination")
        }
      }
    }
  }

  /// Whether an inherited property must be looked at here, because the ancestor that declares it is new.
  private func isFirst(_ entity: Entity) -> Bool { entity.parent.map { entities[$0.index] == nil } ?? true }

  private mutating func check(_ new: AttributeDescription, _ old: Property.Kind?, _ spelling: String) {
    if new.isTransient || new.derivation != nil { return }
    let needsValue = !new.isOptional && new.defaultValue.isNull
    guard case .attribute(let old)? = old else {
      if old != nil {
        problems.append("\(spelling) was a relationship and is an attribute now; give it another name")
        return
      }
      if needsValue { problems.append("\(spelling) is new, not optional and without a default") }
      return
    }
    if old.isTransient {
      if needsValue { problems.append("\(spelling) is stored now, not optional and without a default") }
    } else if !old.type.widens(to: new.type) {
      problems.append("\(spelling) was \(old.type.rawValue) and is \(new.type.rawValue) now")
    } else if old.isOptional && needsValue {
      problems.append("\(spelling) was optional and has no default for the objects without a value")
    }
  }

  private mutating func check(_ new: RelationshipDescription, _ old: RelationshipDescription, _ spelling: String) {
    if old.isToMany && !new.isToMany {
      problems.append("\(spelling) was to-many and is to-one now, so it is not told which destination to keep")
    }
    guard let formerEntity = source.entitiesByName[old.destinationEntity],
      let newEntity = destination.entitiesByName[new.destinationEntity]
    else { return }
    guard let successor = successor(of: formerEntity) else {
      problems.append("\(spelling) led to \(old.destinationEntity), which is no more, and leads elsewhere now")
      return
    }
    if !successor.isKind(of: newEntity) {
      problems.append("\(spelling) led to \(successor.name) and leads to \(newEntity.name) now")
    }
  }
}

extension AttributeType {
  /// Whether each value of this type is one of the other type, stored in the same way.
  fileprivate func widens(to other: AttributeType) -> Bool {
    if self == other { return true }
    let integers: [AttributeType] = [.integer16, .integer32, .integer64]
    if let from = integers.firstIndex(of: self), let to = integers.firstIndex(of: other) { return from <= to }
    return self == .float && other == .double
  }
}
