/// The differences between two versions of a model, property by property, and what a migration makes of them.
///
/// The rows of a store are not known here: where they decide, the change says so.
package struct ModelDifference {
  /// The effect of a change on a store.
  package enum Effect: String, Sendable {
    /// Nothing in the store is different.
    case none
    /// The next start migrates it.
    case inferred
    /// The next start migrates it, unless rows are in the way.
    case conditional
    /// It is refused without a statement in `migration.conf`.
    case decision
  }

  package enum Kind: String, Sendable { case added, removed, changed }

  package struct Change: Sendable {
    package let kind: Kind
    /// Of the later model, or of the earlier one if it is removed.
    package let entity: String
    /// Nil for the entity itself.
    package let property: String?
    /// The differences, or the shape of what is new.
    package let text: String
    package fileprivate(set) var effect: Effect
    /// The fate of rows, or what may be in the way; empty if there is nothing to say.
    package fileprivate(set) var note = ""
    /// For each thing that is, or may be, in the way: the statements of which one solves it.
    package fileprivate(set) var remedies: [[String]] = []

    package var subject: String { entity + (property.map { "." + $0 } ?? "") }
  }

  package private(set) var changes: [Change] = []
  private let mapping: MappingInference

  package init(from former: ManagedObjectModel, to model: ManagedObjectModel) {
    mapping = MappingInference(from: former, to: model)
    for entity in model.entities {
      if let origin = mapping.entities[entity.index] {
        compare(entity, with: origin)
      } else {
        let count = entity.properties.count { !$0.isHidden }
        changes.append(
          Change(
            kind: .added, entity: entity.name, property: nil,
            text: "\(count) \(count == 1 ? "property" : "properties")",
            effect: .inferred))
      }
    }
    for entity in former.entities where mapping.successor(of: entity) == nil {
      var note = "its objects stay in the file, unseen; \"\(MigrationRemedy.drop(entity))\" removes them"
      if let heir = likelyHeir(of: entity) { note += "; \"rename \(entity.name) to \(heir.name)\" moves them there" }
      changes.append(
        Change(kind: .removed, entity: entity.name, property: nil, text: "", effect: .inferred, note: note))
    }
  }

  /// A new entity that has most of the properties of one that goes.
  private func likelyHeir(of entity: Entity) -> Entity? {
    let names = Set(entity.properties.map(\.name))
    return mapping.destination.entities.first { candidate in
      mapping.entities[candidate.index] == nil
        && candidate.properties.count { names.contains($0.name) } * 2 > names.count
    }
  }

  // MARK: Entities

  private mutating func compare(_ entity: Entity, with former: Entity) {
    compareEntity(entity, with: former)
    var kept: Set<String> = []
    for property in entity.properties where !property.isHidden && property.declaringEntity == entity.name {
      if let origin = mapping.properties[entity.index][property.slot] {
        kept.insert(origin.name)
        if let change = change(of: property, in: entity, from: origin, of: former) { changes.append(change) }
      } else {
        changes.append(addition(of: property, to: entity))
      }
    }
    for property in former.properties where !property.isHidden && property.declaringEntity == former.name {
      let isInherited = entity.properties.contains { mapping.origin(of: $0, in: entity)?.name == property.name }
      if !isInherited, !kept.contains(property.name) {
        changes.append(removal(of: property, from: former, entity))
      }
    }
  }

  private mutating func compareEntity(_ entity: Entity, with former: Entity) {
    let (new, old) = (entity.entityDescription, former.entityDescription)
    var (stored, others) = (Wording(), Wording())
    stored.compare("name", new.name, was: old.name)
    stored.compare("parent", new.parent, was: old.parent)
    stored.compare("abstract", new.isAbstract, was: old.isAbstract)
    stored.compare("hash modifier", new.versionHashModifier, was: old.versionHashModifier)
    let constraints = (Self.spelled(new.uniquenessConstraints), Self.spelled(old.uniquenessConstraints))
    stored.compare("uniqueness constraints", constraints.0, was: constraints.1)
    stored.compare("fetch indexes", Self.spelled(new.fetchIndexes), was: Self.spelled(old.fetchIndexes))
    others.compare("class", new.className, was: old.className)
    others.compare("renaming identifier", new.renamingIdentifier, was: old.renamingIdentifier)
    others.compare("user info", Self.spelled(new.userInfo), was: Self.spelled(old.userInfo))
    others.compare(
      "fetched properties", Self.spelled(new.fetchedProperties), was: Self.spelled(old.fetchedProperties))
    var effect: Effect = stored.differences.isEmpty ? .none : .inferred
    var notes: [String] = []
    var remedies: [[String]] = []
    if new.isAbstract, !old.isAbstract {
      effect = .conditional
      notes.append("it must have no objects")
      remedies = [[MigrationRemedy.drop(former)]]
    }
    if !Set(new.uniquenessConstraints).isSubset(of: old.uniquenessConstraints) {
      effect = .conditional
      notes.append("no two objects may have the same values already")
    }
    let text = (stored.differences + others.differences).joined(separator: ", ")
    if text.isEmpty { return }
    changes.append(
      Change(
        kind: .changed, entity: entity.name, property: nil, text: text, effect: effect,
        note: notes.joined(separator: "; "), remedies: remedies))
  }

  private static func spelled(_ constraints: [[String]]) -> String? {
    constraints.isEmpty ? nil : constraints.map { $0.joined(separator: "+") }.sorted().joined(separator: " and ")
  }

  private static func spelled(_ indexes: [EntityDescription.FetchIndex]) -> String? {
    let words = indexes.map { index in
      index.name + "("
        + index.elements.map { $0.property + ($0.isAscending ? "" : " descending") }.joined(separator: " ")
        + ")"
    }
    return words.isEmpty ? nil : words.sorted().joined(separator: " and ")
  }

  private static func spelled(_ userInfo: [String: String]) -> String? {
    userInfo.isEmpty ? nil : userInfo.map { "\($0)=\($1)" }.sorted().joined(separator: " ")
  }

  private static func spelled(_ properties: [EntityDescription.FetchedProperty]) -> String? {
    let words = properties.map { "\($0.name) of \($0.entity)" + ($0.predicate.map { " where \($0)" } ?? "") }
    return words.isEmpty ? nil : words.sorted().joined(separator: " and ")
  }

  // MARK: Properties

  private func addition(of property: Property, to entity: Entity) -> Change {
    let remedies = lackRemedies(of: property, in: entity)
    var note = remedies.isEmpty ? "" : "objects that are there need a value"
    if property.relationship?.isOptional == false { note = "objects lead nowhere until it is set" }
    return Change(
      kind: .added, entity: entity.name, property: property.name, text: property.shape,
      effect: remedies.isEmpty ? .inferred : .conditional, note: note, remedies: remedies)
  }

  /// The statements for objects that have no value and need one; empty if there can be none.
  private func lackRemedies(of property: Property, in entity: Entity) -> [[String]] {
    guard let attribute = property.attribute,
      mapping.attributeMapping(of: property, in: entity)?.needsValue == true
    else { return [] }
    return [[MigrationRemedy.fill("\(entity.name).\(property.name)", attribute.type)]]
  }

  private func removal(of property: Property, from former: Entity, _ entity: Entity) -> Change {
    var note = property.isStored ? "its \(property.attribute == nil ? "links" : "values") go" : ""
    let heirs = entity.properties.filter { candidate in
      mapping.origin(of: candidate, in: entity) == nil && !candidate.isHidden && candidate.resembles(property)
    }
    if heirs.count == 1 { note += "; \"rename \(former.name).\(property.name) to \(heirs[0].name)\" keeps them" }
    return Change(
      kind: .removed, entity: former.name, property: property.name, text: "", effect: .inferred, note: note)
  }

  private func change(
    of property: Property, in entity: Entity, from origin: Property, of former: Entity
  ) -> Change? {
    var (stored, others) = (Wording(), Wording())
    switch (property.kind, origin.kind) {
    case (.attribute(let new), .attribute(let old)): (stored, others) = Self.differences(new, old)
    case (.relationship(let new), .relationship(let old)): (stored, others) = Self.differences(new, old)
    case (.attribute, .relationship): stored.compare("kind", "attribute", was: "relationship")
    case (.relationship, .attribute): stored.compare("kind", "relationship", was: "attribute")
    }
    let text = (stored.differences + others.differences).joined(separator: ", ")
    if text.isEmpty { return nil }
    var change = Change(
      kind: .changed, entity: entity.name, property: property.name, text: text,
      effect: stored.differences.isEmpty ? .none : .inferred)
    if let problem = mapping.problem(of: property, from: origin, in: entity, former: former) {
      change.effect = .decision
      change.remedies = [problem.remedies]
      return change
    }
    var notes: [String] = []
    if let attribute = property.attribute, mapping.attributeMapping(of: property, in: entity)?.conversion != nil {
      notes.append("each value must survive it")
      change.remedies.append(
        MigrationRemedy.convert(
          "\(entity.name).\(property.name)", to: attribute.type, orDrop: "\(former.name).\(origin.name)"))
    }
    let lack = lackRemedies(of: property, in: entity)
    if !lack.isEmpty { notes.append("objects without a value need one") }
    change.remedies += lack
    if !change.remedies.isEmpty { change.effect = .conditional }
    if origin.isStored, !property.isStored { notes.append("its values go") }
    if property.relationship != nil, mapping.linkOrigin(of: property, in: entity) == nil {
      notes.append("its links go")
    }
    change.note = notes.joined(separator: "; ")
    return change
  }

  private static func differences(
    _ new: AttributeDescription, _ old: AttributeDescription
  ) -> (stored: Wording, others: Wording) {
    var (stored, others) = (Wording(), Wording())
    stored.compare("name", new.name, was: old.name)
    stored.compare("type", new.type.rawValue, was: old.type.rawValue)
    stored.compare("optional", new.isOptional, was: old.isOptional)
    stored.compare("transient", new.isTransient, was: old.isTransient)
    stored.compare("external storage", new.allowsExternalBinaryDataStorage, was: old.allowsExternalBinaryDataStorage)
    stored.compare("derivation", new.derivation, was: old.derivation)
    stored.compare("hash modifier", new.versionHashModifier, was: old.versionHashModifier)
    others.compare("default", new.defaultValue.written, was: old.defaultValue.written)
    others.compare("minimum", new.minimum.written, was: old.minimum.written)
    others.compare("maximum", new.maximum.written, was: old.maximum.written)
    others.compare("pattern", new.pattern, was: old.pattern)
    others.compare("scalar", new.usesScalarValue, was: old.usesScalarValue)
    others.compare(
      "kept in history", new.preservesValueInHistoryOnDeletion, was: old.preservesValueInHistoryOnDeletion)
    others.compare("class", new.customClassName, was: old.customClassName)
    others.compare("transformer", new.valueTransformerName, was: old.valueTransformerName)
    others.compare("renaming identifier", new.renamingIdentifier, was: old.renamingIdentifier)
    others.compare("user info", spelled(new.userInfo), was: spelled(old.userInfo))
    return (stored, others)
  }

  private static func differences(
    _ new: RelationshipDescription, _ old: RelationshipDescription
  ) -> (stored: Wording, others: Wording) {
    var (stored, others) = (Wording(), Wording())
    stored.compare("name", new.name, was: old.name)
    stored.compare("destination", new.destinationEntity, was: old.destinationEntity)
    stored.compare("inverse", new.inverse, was: old.inverse)
    stored.compare("to-many", new.isToMany, was: old.isToMany)
    stored.compare("ordered", new.isOrdered, was: old.isOrdered)
    stored.compare("optional", new.isOptional, was: old.isOptional)
    stored.compare("transient", new.isTransient, was: old.isTransient)
    stored.compare("minimum count", "\(new.minimumCount)", was: "\(old.minimumCount)")
    stored.compare("maximum count", "\(new.maximumCount)", was: "\(old.maximumCount)")
    stored.compare("hash modifier", new.versionHashModifier, was: old.versionHashModifier)
    others.compare("delete rule", new.deleteRule.rawValue, was: old.deleteRule.rawValue)
    others.compare("renaming identifier", new.renamingIdentifier, was: old.renamingIdentifier)
    others.compare("user info", spelled(new.userInfo), was: spelled(old.userInfo))
    return (stored, others)
  }

  /// Differences in words, such as "type Integer 64 instead of String".
  private struct Wording {
    private(set) var differences: [String] = []

    mutating func compare(_ name: String, _ new: String?, was old: String?) {
      if new != old { differences.append("\(name) \(new ?? "none") instead of \(old ?? "none")") }
    }

    mutating func compare(_ name: String, _ new: Bool, was old: Bool) {
      if new != old { differences.append(new ? name : "not \(name)") }
    }
  }
}

extension Property {
  /// True if it is kept in a store.
  fileprivate var isStored: Bool { isPersistent || relationship?.isTransient == false }

  /// True if one may be the other under another name.
  fileprivate func resembles(_ other: Property) -> Bool {
    if let type = attribute?.type { return type == other.attribute?.type }
    return relationship?.destinationEntity == other.relationship?.destinationEntity
      && relationship?.isToMany == other.relationship?.isToMany
  }
}
