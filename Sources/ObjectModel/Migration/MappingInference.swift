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
    func assign(_ find: (Name) -> Int?) {
      for (place, name) in new.enumerated() where result[place] == nil {
        guard let found = find(name), !isTaken[found] else { continue }
        result[place] = found
        isTaken[found] = true
      }
    }
    assign { byDecision[$0.name] }
    for (place, name) in old.enumerated() where name.newName != nil { isTaken[place] = true }
    assign { name in name.identifier.flatMap { $0 == name.name ? nil : byName[$0] } }
    assign { name in name.identifier.flatMap { byCanonical[$0] } }
    assign { name in byCanonical[name.name].flatMap { old[$0].name == name.name ? $0 : nil } }
    assign { byName[$0.name] }
    assign { byCanonical[$0.name] }
    return result
  }
}

extension Property {
  /// The name in an earlier version of the model.
  var renamingIdentifier: String? { attribute?.renamingIdentifier ?? relationship?.renamingIdentifier }
}

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

extension MappingInference {
  /// A difference between the models, in a sentence.
  private struct Difference {
    let text: String
    /// True if the rest of the model and its objects stay as they are.
    let isAddition: Bool

    static func addition(_ name: String) -> Difference { Difference(text: "\(name) is new", isAddition: true) }

    static func alteration(_ text: String) -> Difference { Difference(text: text, isAddition: false) }
  }

  /// The differences for existing and new objects, a sentence for each.
  package var changes: [String] { differences.map(\.text) }

  /// The differences that take something away from what is there, or make something else of it, a sentence for each.
  package var alterations: [String] {
    let gone = source.entities.filter { successor(of: $0) == nil }.map { "\($0.name) is no more" }
    return differences.filter { !$0.isAddition }.map(\.text) + gone
  }

  private var differences: [Difference] {
    destination.entities.flatMap { entity -> [Difference] in
      guard let former = entities[entity.index] else { return [.addition(entity.name)] }
      let isRenamed = former.name != entity.name
      return (isRenamed ? [.alteration("\(former.name) becomes \(entity.name)")] : [])
        + differences(of: entity, from: former)
    }
  }

  private func differences(of entity: Entity, from former: Entity) -> [Difference] {
    var differences: [Difference] = []
    let own = entity.properties.filter { !$0.isHidden && $0.declaringEntity == entity.name }
    for property in own {
      let spelling = "\(entity.name).\(property.name)"
      guard let origin = origin(of: property, in: entity) else {
        differences.append(.addition(spelling))
        continue
      }
      if origin.name != property.name {
        differences.append(.alteration("\(former.name).\(origin.name) becomes \(spelling)"))
      }
      if let type = property.attribute?.type, let old = origin.attribute?.type, type != old {
        differences.append(.alteration("\(spelling), \(old.rawValue) so far, becomes \(type.rawValue)"))
      }
      if property.relationship != nil, linkOrigin(of: property, in: entity) == nil {
        differences.append(.alteration("\(spelling) loses its links"))
      }
    }
    let kept = entity.properties.compactMap { origin(of: $0, in: entity)?.name }
    for property in former.properties where !property.isHidden && property.declaringEntity == former.name {
      if !kept.contains(property.name) { differences.append(.alteration("\(former.name).\(property.name) goes")) }
    }
    return differences
  }
}

// Changes that can't be inferred, and mistakes in the decisions.
extension MappingInference {
  mutating func check(_ entity: Entity) {
    // A new entity has no rows, so there is nothing to be filled in.
    guard let former = entities[entity.index] else { return }
    let isHandled = choices.isHandled(former.name)
    for property in entity.properties where !property.isHidden {
      guard let origin = properties[entity.index][property.slot],
        let problem = problem(of: property, from: origin, in: entity, former: former)
      else { continue }
      // Code sets it: nothing is taken over.
      if isHandled {
        properties[entity.index][property.slot] = nil
      } else if entity.parent?.property(named: property.name) == nil || isFirst(entity) {
        problems.append(problem)
      }
    }
  }

  /// True if an inherited property must be looked at here, because the ancestor that declares it is new.
  private func isFirst(_ entity: Entity) -> Bool { entity.parent.map { entities[$0.index] == nil } ?? true }

  /// The reason why a property's values can't come from the earlier model's property; nil if they can.
  func problem(
    of property: Property, from origin: Property, in entity: Entity, former: Entity
  ) -> MigrationProblem? {
    let spelling = "\(entity.name).\(property.name)"
    let drop = "drop \(former.name).\(origin.name)"
    switch (property.kind, origin.kind) {
    case (.attribute(let new), .attribute(let old)):
      if new.isTransient || new.derivation != nil || old.isTransient { return nil }
      let conversion = ValueConversion(from: old.type, to: new.type)
      if old.type == new.type || conversion?.isInferred == true { return nil }
      let isStated = choices.conversion(of: property, in: entity) != nil
      if conversion != nil && isStated { return nil }
      return MigrationProblem(
        "\(spelling) was \(old.type.rawValue) and is \(new.type.rawValue) now"
          + (isStated ? ", and values of the one can't be converted to the other" : ""),
        remedies: (conversion == nil ? [] : ["convert \(spelling)"]) + [drop])
    case (.relationship(let new), .relationship(let old)):
      if old.isToMany && !new.isToMany {
        return MigrationProblem(
          "\(spelling) was to-many and is to-one now, so it is not told which destination to keep", remedies: [drop])
      }
      guard let formerEnd = origin.destination, let end = property.destination else { return nil }
      // Where nothing is left of what it led to, the links go with their objects.
      if reaches(formerEnd, end) || formerEnd.withDescendants.allSatisfy({ successor(of: $0) == nil }) { return nil }
      let now = successor(of: formerEnd)?.name ?? formerEnd.name
      return MigrationProblem("\(spelling) led to \(now) and leads to \(end.name) now", remedies: [drop])
    case (.relationship, .attribute):
      return MigrationProblem(
        "\(spelling) was an attribute and is a relationship now; give it another name", remedies: [drop])
    case (.attribute, .relationship):
      return MigrationProblem(
        "\(spelling) was a relationship and is an attribute now; give it another name", remedies: [drop])
    }
  }

  /// Checks that the names in the decisions exist: a mistyped name must not pass for a decision.
  mutating func checkChoices() {
    for statement in choices.statements {
      if let text = mistake(in: statement.kind) { problems.append(MigrationProblem("\(statement.place): \(text)")) }
    }
  }

  private func mistake(in kind: MigrationChoices.Statement.Kind) -> String? {
    func missing(_ name: MigrationChoices.PropertyName, in model: ManagedObjectModel, _ what: String) -> String? {
      guard let entity = model.entitiesByName[name.entity] else { return "\(what) has no entity \(name.entity)" }
      return entity.property(named: name.property) == nil ? "\(what) has no property \(name)" : nil
    }
    func missing(_ entity: String, in model: ManagedObjectModel, _ what: String) -> String? {
      model.entitiesByName[entity] == nil ? "\(what) has no entity \(entity)" : nil
    }
    func attribute(_ name: MigrationChoices.PropertyName) -> AttributeDescription? {
      destination.entitiesByName[name.entity]?.property(named: name.property)?.attribute
    }
    func mistake(_ text: String, for name: MigrationChoices.PropertyName) -> String? {
      guard let type = attribute(name)?.type else { return "\(name) is no attribute" }
      return Value(written: text, as: type) == nil ? "\"\(text)\" is no \(type.rawValue)" : nil
    }
    let (store, model) = ("the store's model", "the new model")
    switch kind {
    case .renameEntity(let old, let new):
      return missing(old, in: source, store) ?? missing(new, in: destination, model)
    case .renameProperty(let old, let new):
      if let text = missing(old, in: source, store) { return text }
      guard let origin = source.entitiesByName[old.entity], let entity = successor(of: origin) else {
        return "\(old.entity) is no more"
      }
      return entity.property(named: new) == nil ? "\(model) has no property \(entity.name).\(new)" : nil
    // A kept family is known to the store only.
    case .dropEntity: return nil
    case .handle(let name): return missing(name, in: source, store)
    case .dropProperty(let name): return missing(name, in: source, store)
    case .setDefault(let name, let text):
      return missing(name, in: destination, model) ?? mistake(text, for: name)
    case .convert(let name, let fallback):
      if let text = missing(name, in: destination, model) { return text }
      if case .value(let text) = fallback { return mistake(text, for: name) }
      return attribute(name) == nil ? "\(name) is no attribute" : nil
    case .export(let name): return missing(name, in: source, store)
    }
  }
}
