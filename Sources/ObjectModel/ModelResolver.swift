import Foundation

/// Turns descriptions into entities: checks names, orders families, assigns slots, links relationships, hashes.
struct ModelResolver {
  private let descriptions: [String: EntityDescription]
  private let order: [String]
  private let duplicate: String?
  /// The limit of the chain of parents, which recursion follows; no real model comes near it.
  private let deepestInheritance = 100
  private let classes: [String: AnyClass]
  let file: String?
  private(set) var resolved: [String: Entity] = [:]
  /// The contradictions that were found; after those of one kind nothing more is looked at.
  private(set) var errors: [ModelError] = []
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
    guard order.count <= UInt16.max else {
      throw ModelError(.contradiction, "has \(order.count) entities; a model can have \(UInt16.max)", file: file)
    }
    try checkCase(of: order)
    for name in order {
      do throws(ModelError) { _ = try entity(named: name, heirs: []) } catch { note(error) }
    }
    try stop()
    let names = self
    try eachProperty { (property, entity) throws(ModelError) in try names.tieRelationship(property, of: entity) }
    for entity in entities where entity.parent == nil { ColumnNames.assign(family: entity.withDescendants) }
    try eachProperty { (property, entity) throws(ModelError) in try names.tieDerivation(property, of: entity) }
    for entity in entities {
      do throws(ModelError) { try checkReferences(of: entity) } catch { note(error) }
    }
    try stop()
    for entity in entities { entity.versionHash = hash(of: entity) }
    return entities
  }

  /// Notes an error, once: an entity that can't be resolved is come to from its heirs as well.
  private mutating func note(_ error: ModelError) {
    if !errors.contains(where: { $0.description == error.description }) { errors.append(error) }
  }

  /// Throws the first error, if there is one.
  private func stop() throws(ModelError) {
    if let first = errors.first { throw first }
  }

  /// Checks all properties of all entities; those that inherit a property have its errors, too.
  private mutating func eachProperty(
    _ check: (Property, Entity) throws(ModelError) -> Void
  ) throws(ModelError) {
    for entity in entities {
      for property in entity.properties {
        do throws(ModelError) { try check(property, entity) } catch {
          let isKnown = errors.contains { $0.message == error.message && $0.property == error.property }
          if property.declaringEntity == entity.name || !isKnown { note(error) }
        }
      }
    }
    try stop()
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
    guard heirs.count < deepestInheritance else {
      throw ModelError(
        .contradiction, "inherits through more than \(deepestInheritance) entities", file: file, entity: heirs.first)
    }
    try checkName(name, "an entity", entity: name, property: nil)
    var parent: Entity?
    if let parentName = description.parent { parent = try entity(named: parentName, heirs: heirs + [name]) }
    let entity = Entity(
      description, index: entities.count, properties: try properties(of: description, parent: parent), parent: parent,
      objectClass: description.className.flatMap { classes["\(name).\($0)"] ?? classes[$0] })
    parent?.children.append(entity)
    resolved[name] = entity
    entities.append(entity)
    return entity
  }

  private mutating func properties(
    of description: EntityDescription, parent: Entity?
  ) throws(ModelError) -> [Property] {
    // Inherited properties are made anew: a subentity's relationship may be tied to another destination's slot.
    var properties =
      parent?.properties.map {
        Property($0.kind, slot: $0.slot, declaringEntity: $0.declaringEntity, isHidden: $0.isHidden)
      } ?? []
    func add(_ kind: Property.Kind, isHidden: Bool = false) {
      properties.append(
        Property(kind, slot: properties.count, declaringEntity: description.name, isHidden: isHidden))
    }
    for attribute in description.attributes {
      do throws(ModelError) {
        try checkName(attribute.name, "a property", entity: description.name, property: attribute.name)
        try checkValues(of: attribute, entity: description.name)
      } catch { note(error) }
      add(.attribute(attribute))
    }
    for relationship in description.relationships {
      do throws(ModelError) {
        try checkName(relationship.name, "a property", entity: description.name, property: relationship.name)
      } catch { note(error) }
      add(.relationship(relationship))
    }
    for relationship in description.relationships where hasOrderedInverse(relationship) {
      add(.attribute(AttributeDescription(Self.orderName(of: relationship.name), .integer64)), isHidden: true)
    }
    var names: Set<String> = []
    for property in properties where !names.insert(property.name).inserted {
      throw ModelError(
        .invalidName, "the property is defined twice", file: file, entity: description.name, property: property.name)
    }
    return properties
  }

  /// True if a to-one relationship's inverse is ordered, so that its place there has to be kept.
  private func hasOrderedInverse(_ relationship: RelationshipDescription) -> Bool {
    guard !relationship.isToMany, let inverse = relationship.inverse else { return false }
    var name: String? = relationship.destinationEntity
    for _ in 0..<deepestInheritance {
      guard let entity = name.flatMap({ descriptions[$0] }) else { return false }
      if let found = entity.relationships.first(where: { $0.name == inverse }) {
        return found.isToMany && found.isOrdered
      }
      name = entity.parent
    }
    return false
  }

  /// The name of the property that keeps the place of an object in its inverse's order.
  static func orderName(of relationship: String) -> String { "_order_" + relationship }

  private func checkCase(of names: [String]) throws(ModelError) {
    var seen: [String: String] = [:]
    for name in names {
      guard let other = seen.updateValue(name, forKey: name.lowercased()) else { continue }
      throw ModelError(
        .invalidName, "the name differs from \"\(other)\" in case only, which a store can't tell apart", file: file,
        entity: name)
    }
  }

  private func checkName(_ name: String, _ what: String, entity: String, property: String?) throws(ModelError) {
    let valid =
      name.first.map { $0.isLetter || $0 == "_" } == true
      && name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
    guard valid else {
      throw ModelError(
        .invalidName,
        "\"\(name)\" can't name \(what): a name begins with a letter or _ and has letters, digits and _ only",
        file: file, entity: entity, property: property)
    }
  }

  /// The hash of what migration must know: names, types, optionality, inheritance, relationships' shape, constraints.
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

  func tieRelationship(_ property: Property, of entity: Entity) throws(ModelError) {
    guard let relationship = property.relationship else { return }
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
      return
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

extension ModelResolver {
  /// Gives each relationship that no to-one relationship mirrors its join table, one per pair of relationships.
  static func makeJoinTables(_ entities: [Entity]) -> [JoinTable] {
    var tables: [JoinTable] = []
    var byDeclaration: [String: JoinTable] = [:]
    let byName = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0) })
    for entity in entities {
      for property in entity.properties where property.needsJoinTable {
        guard let destination = property.destination, let owner = byName[property.declaringEntity] else { continue }
        let own = "\(property.declaringEntity).\(property.name)"
        let other = property.inverse.map { "\($0.declaringEntity).\($0.name)" }
        // The end whose name comes first is the left one, so that the order of entities decides nothing.
        property.isLeftEnd = other.map { own <= $0 } ?? true
        let declaration = property.isLeftEnd ? own : other ?? own
        if let known = byDeclaration[declaration] {
          property.joinTable = known
          continue
        }
        let made: JoinTable
        if property.isLeftEnd {
          made = JoinTable(index: tables.count, left: owner, property: property, right: destination)
        } else if let inverse = property.inverse, let left = byName[inverse.declaringEntity] {
          made = JoinTable(index: tables.count, left: left, property: inverse, right: owner)
        } else {
          continue
        }
        byDeclaration[declaration] = made
        property.joinTable = made
        tables.append(made)
      }
    }
    var names = ColumnNames(reserved: entities.filter { $0.parent == nil }.map(\.name))
    // Two tables can have the very same name: "A_b" and "c" make it, and so do "A" and "b_c".
    let sorted = tables.sorted { ($0.name, $0.left.name) < ($1.name, $1.left.name) }
    let clashing = sorted.filter { !names.reserve($0.name) }
    for table in clashing { table.name = names.reserveNumbered(table.name) }
    return tables
  }
}

extension Property {
  /// True if the destinations are found through links of their own.
  fileprivate var needsJoinTable: Bool { storage == .toMany && inverse?.storage != .reference }
}
