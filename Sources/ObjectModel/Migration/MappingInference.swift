/// The mapping from an earlier model's entities and properties to a later one's, by names and types, or by decisions.
///
/// An entity or property comes from the one that a decision or its renaming identifier names, from the one with the
/// same renaming identifier, or from the one with the same name.
package struct MappingInference: Sendable {
  package let source: ManagedObjectModel
  package let destination: ManagedObjectModel
  package let choices: MigrationChoices
  /// The changes that can't be inferred, whatever the rows are.
  package internal(set) var problems: [MigrationProblem] = []
  /// The source of each entity, by the index of the destination entity; nil for a new one.
  package let entities: [Entity?]
  /// The sources of properties by the index of the destination entity and the slot.
  var properties: [[Property?]]

  package init(
    from source: ManagedObjectModel, to destination: ManagedObjectModel, choices: MigrationChoices = .init()
  ) {
    self.source = source
    self.destination = destination
    self.choices = choices
    let pairs = NameMatching.match(
      destination.entities.map { .init($0.name, $0.entityDescription.renamingIdentifier) },
      source.entities.map {
        .init(
          $0.name, $0.entityDescription.renamingIdentifier, newName: choices.newName(of: $0.name),
          isGone: choices.isDropped($0.name))
      })
    entities = pairs.map { $0.map { source.entities[$0] } }
    properties = []
    for entity in destination.entities {
      guard let origin = entities[entity.index] else {
        properties.append(Array(repeating: nil, count: entity.properties.count))
        continue
      }
      let pairs = NameMatching.match(
        entity.properties.map { .init($0.name, $0.renamingIdentifier) },
        origin.properties.map { property in
          .init(
            property.name, property.renamingIdentifier, newName: choices.newName(of: property, in: origin),
            isGone: choices.isDropped(property, of: origin)
              || property.inverse.map { choices.isDropped($0, of: property.destination ?? origin) } ?? false)
        })
      // What the library keeps for a relationship follows that.
      properties.append(
        zip(entity.properties, pairs).map { property, pair in
          property.isHidden ? nil : pair.map { origin.properties[$0] }
        })
    }
    checkChoices()
    for entity in destination.entities { check(entity) }
  }

  /// The origin of a destination entity's property; nil if it is new.
  package func origin(of property: Property, in entity: Entity) -> Property? {
    if let origin = properties[entity.index][property.slot] { return origin }
    guard property.isHidden else { return nil }
    let relationship = entity.property(named: String(property.name.dropFirst(Self.orderPrefix.count)))
    guard let former = relationship.flatMap({ linkOrigin(of: $0, in: entity) }) else { return nil }
    return entities[entity.index]?.property(named: Self.orderPrefix + former.name)
  }

  private static let orderPrefix = "_order_"

  /// The relationship whose links a relationship of a destination entity takes over; nil if it is new, or if none of the
  /// objects that the former one led to can be led to by this one.
  package func linkOrigin(of property: Property, in entity: Entity) -> Property? {
    guard let origin = origin(of: property, in: entity), let former = origin.destination,
      let destination = property.destination, reaches(former, destination)
    else { return nil }
    return origin
  }

  /// True if objects of an entity or its descendants become objects of another or its descendants.
  func reaches(_ former: Entity, _ destination: Entity) -> Bool {
    former.withDescendants.contains { successor(of: $0)?.isKind(of: destination) == true }
  }

  /// The destination entity that a source entity becomes; nil if it is gone.
  package func successor(of entity: Entity) -> Entity? {
    entities.firstIndex { $0 === entity }.map { destination.entities[$0] }
  }
}

/// An obstacle to a store's migration, and what an operator can do about it.
package struct MigrationProblem: Sendable {
  /// One sentence, without the period.
  package let text: String
  /// Statements of a ``MigrationInstructions`` file, one of which solves it.
  package let remedies: [String]

  package init(_ text: String, remedies: [String] = []) {
    self.text = text
    self.remedies = remedies
  }
}

/// Matches new names with the old ones they come from.
enum NameMatching {
  struct Name {
    let name: String
    let identifier: String?
    /// The name that the old one has by decision.
    let newName: String?
    /// True if nothing may come from the old one.
    let isGone: Bool

    init(_ name: String, _ identifier: String?, newName: String? = nil, isGone: Bool = false) {
      self.name = name
      self.identifier = identifier.flatMap { $0.isEmpty ? nil : $0 }
      self.newName = newName
      self.isGone = isGone
    }

    var canonical: String { identifier ?? name }
  }

  /// Returns for each new name the index of the old one; each is used once, decisions first, then explicit renaming.
  static func match(_ new: [Name], _ old: [Name]) -> [Int?] {
    var result = [Int?](repeating: nil, count: new.count)
    var isTaken = old.map(\.isGone)
    let byDecision = Dictionary(old.enumerated().compactMap { place, name in name.newName.map { ($0, place) } }) {
      first, _ in first
    }
    let byName = Dictionary(old.enumerated().map { ($1.name, $0) }) { first, _ in first }
    let byCanonical = Dictionary(old.enumerated().map { ($1.canonical, $0) }) { first, _ in first }
    func take(_ find: (Name) -> Int?) {
      for (place, name) in new.enumerated() where result[place] == nil {
        guard let found = find(name), !isTaken[found] else { continue }
        result[place] = found
        isTaken[found] = true
      }
    }
    take { byDecision[$0.name] }
    for (place, name) in old.enumerated() where name.newName != nil { isTaken[place] = true }
    take { name in name.identifier.flatMap { $0 == name.name ? nil : byName[$0] } }
    take { name in name.identifier.flatMap { byCanonical[$0] } }
    take { name in byCanonical[name.name].flatMap { old[$0].name == name.name ? $0 : nil } }
    take { byName[$0.name] }
    take { byCanonical[$0.name] }
    return result
  }
}

extension Property {
  /// The name in an earlier version of the model.
  var renamingIdentifier: String? { attribute?.renamingIdentifier ?? relationship?.renamingIdentifier }
}
