import Foundation
import ObjectModel

/// The part of an entity's class that is generated; the rest is written by hand.
enum GeneratedPart: String {
  /// The class.
  case all = "class"
  /// A superclass with the properties.
  case properties
  /// Nothing.
  case nothing = "none"

  /// The key in an entity's user info whose value names the part.
  static let key = "bobbin.generate"

  /// The part of that entity's class; all of it, if the model doesn't say otherwise.
  init(of entity: Entity) {
    self = entity.entityDescription.userInfo[Self.key].flatMap(Self.init(rawValue:)) ?? .all
  }
}

/// The entities that have a class, generated or written by hand, and the names of classes and properties.
struct GeneratedClasses {
  /// In the order of the model, those they inherit from first.
  let entities: [Entity]
  /// Names and types that differ in Swift from the model although nobody asked for it.
  private(set) var warnings: [ModelError] = []
  private let model: ManagedObjectModel
  /// The Swift name of each class, by the entity's name.
  private var classNames: [String: String] = [:]
  /// The Swift name of each generated superclass of a class that is written by hand, by the entity's name.
  private var superclassNames: [String: String] = [:]
  /// The model's name of each class, by the entity's name: what the classes are found by when the model is read.
  private var keys: [String: String] = [:]
  private var propertyNames: [String: PropertyNames] = [:]

  /// - Throws: ``ModelError`` for names that were wanted and can't be those of classes or properties in Swift.
  init(_ modelFile: ModelFile, file: String) throws(ModelError) {
    model = modelFile.model
    entities = model.entities.filter { $0.entityDescription.className != nil }
    do throws(ModelError) {
      try nameClasses()
      for entity in model.entities {
        var names = entity.parent.flatMap { propertyNames[$0.name] } ?? PropertyNames()
        // Without a generated class there is nothing to warn of.
        var noted: [ModelError] = []
        try names.add(entity, &noted)
        if classNames[entity.name] != nil, GeneratedPart(of: entity) != .nothing { warnings += noted }
        propertyNames[entity.name] = names
      }
    } catch {
      throw Self.placed(error, in: modelFile, file: file)
    }
    for entity in entities {
      checkPart(of: entity)
      checkTypes(of: entity)
    }
    warnings = warnings.map { Self.placed($0, in: modelFile, file: file) }
  }

  private static func placed(_ error: ModelError, in modelFile: ModelFile, file: String) -> ModelError {
    var error = error
    error.file = file
    return modelFile.placing(error)
  }

  private mutating func nameClasses() throws(ModelError) {
    var owners: [String: String] = [:]
    for entity in entities {
      guard let wanted = entity.entityDescription.userInfo[PropertyNames.key] else { continue }
      guard SwiftNames.isIdentifier(wanted), !SwiftNames.reservedClasses.contains(wanted), owners[wanted] == nil else {
        throw ModelError(
          .invalidName, "\"\(wanted)\" (\(PropertyNames.key)) can't name the class, or names another one",
          entity: entity.name)
      }
      owners[wanted] = entity.name
      classNames[entity.name] = wanted
    }
    // Objects are found by the class's name; where entities share one, by that of the entity, too.
    var firsts: [String: Entity] = [:]
    var sharing: [(entity: Entity, name: String)] = []
    for entity in entities {
      guard let name = entity.entityDescription.className else { continue }
      if classNames[entity.name] == nil, let first = firsts[name], haveOneClass(first, entity) {
        classNames[entity.name] = classNames[first.name]
        continue
      }
      let isShared = firsts[name] != nil
      keys[entity.name] = isShared ? "\(entity.name).\(name)" : name
      firsts[name] = firsts[name] ?? entity
      if classNames[entity.name] != nil { continue }
      if isShared {
        sharing.append((entity, name))
      } else {
        nameClass(of: entity, named: name, preferring: name, owners: &owners)
      }
    }
    for (entity, name) in sharing {
      nameClass(of: entity, named: name, preferring: entity.name, owners: &owners, sharedWith: firsts[name])
    }
    for entity in entities where GeneratedPart(of: entity) == .properties {
      var free = (classNames[entity.name] ?? entity.name) + "Properties"
      while owners[free] != nil { free += "_" }
      owners[free] = entity.name
      superclassNames[entity.name] = free
    }
  }

  /// True if both have the same class: one that is written by hand may be that of several entities.
  private func haveOneClass(_ entity: Entity, _ other: Entity) -> Bool {
    GeneratedPart(of: entity) == .nothing && GeneratedPart(of: other) == .nothing
  }

  /// Gives a class its preferred name, or a similar one that is free and valid in Swift.
  private mutating func nameClass(
    of entity: Entity, named name: String, preferring preferred: String, owners: inout [String: String],
    sharedWith other: Entity? = nil
  ) {
    var free = String(preferred.map { $0.isLetter || $0.isNumber || $0 == "_" ? $0 : "_" })
    while !SwiftNames.isIdentifier(free) || SwiftNames.reservedClasses.contains(free) || owners[free] != nil {
      free = SwiftNames.isIdentifier(free) ? free + "_" : "_" + free
    }
    owners[free] = entity.name
    classNames[entity.name] = free
    if free == name { return }
    let reason =
      other.map { "the class \"\(name)\" is that of \"\($0.name)\" too" } ?? "\"\(name)\" can't name a class"
    warnings.append(
      ModelError(
        .invalidName,
        "\(reason), so this one is \"\(free)\" in Swift; \(PropertyNames.key) in the entity's user info "
          + "gives it another name", entity: entity.name))
  }

  private mutating func checkPart(of entity: Entity) {
    guard let told = entity.entityDescription.userInfo[GeneratedPart.key], GeneratedPart(rawValue: told) == nil else {
      return
    }
    warnings.append(
      ModelError(
        .invalidValue,
        "\"\(told)\" (\(GeneratedPart.key)) is none of class, properties and none, so the class is generated",
        entity: entity.name))
  }

  private mutating func checkTypes(of entity: Entity) {
    if GeneratedPart(of: entity) == .nothing { return }
    for attribute in entity.entityDescription.attributes where attribute.hasInvalidClassName {
      warnings.append(
        ModelError(
          .invalidName,
          "\"\(attribute.customClassName ?? "")\" can't be the type of a transformable in Swift, so it is Data; "
            + "\(AttributeDescription.typeKey) in its user info names another type", entity: entity.name,
          property: attribute.name))
    }
  }

  /// The Swift names of all classes.
  var names: Set<String> { Set(classNames.values).union(superclassNames.values) }

  /// The entities of which something is generated.
  var generated: [Entity] { entities.filter { GeneratedPart(of: $0) != .nothing } }

  /// True if a generated property has a type of Foundation.
  var showsFoundation: Bool {
    generated.flatMap(declaredProperties).contains { property in
      guard let attribute = property.attribute else { return false }
      switch attribute.type {
      case .decimal, .date, .binary, .uuid, .uri: return true
      case .transformable: return attribute.swiftClassName.map(AttributeDescription.namesFoundation) ?? true
      case .undefined:
        return attribute.userInfo[AttributeDescription.typeKey].map(AttributeDescription.namesFoundation) ?? false
      case .integer16, .integer32, .integer64, .double, .float, .string, .boolean: return false
      }
    }
  }

  func entity(named name: String) -> Entity? { model.entitiesByName[name] }

  /// The class of an entity's objects, or nil if there is none.
  func name(of entity: Entity) -> String? { classNames[entity.name] }

  /// The class that is generated for an entity: that of its objects, or the superclass of one that is written by hand.
  func generatedName(of entity: Entity) -> String? { superclassNames[entity.name] ?? classNames[entity.name] }

  /// The key by which a model's reader finds an entity's class; nil if it has none, or that of another entity.
  func key(of entity: Entity) -> String? { keys[entity.name] }

  /// The Swift names of the properties of all classes.
  var namesOfProperties: Set<String> {
    Set(generated.flatMap { entity in entity.properties.map { propertyNames(of: entity)[$0.name] } })
  }

  /// The Swift names of an entity's properties.
  func propertyNames(of entity: Entity) -> PropertyNames { propertyNames[entity.name] ?? PropertyNames() }

  /// The nearest entity above that has a class.
  func ancestor(of entity: Entity) -> Entity? {
    var ancestor = entity.parent
    while let candidate = ancestor, name(of: candidate) == nil { ancestor = candidate.parent }
    return ancestor
  }

  /// The properties that the generated class declares: its superclass has the others, and those of entities between
  /// them that have no class are served here.
  func declaredProperties(of entity: Entity) -> ArraySlice<Property> {
    entity.properties.dropFirst(ancestor(of: entity)?.properties.count ?? 0)
  }

  /// The properties that the generated class is sure to have: what an ancestor written by hand declares is not known.
  func knownProperties(of entity: Entity) -> ArraySlice<Property> {
    let written = ancestors(of: entity).first { GeneratedPart(of: $0) == .nothing }
    return entity.properties.dropFirst(written?.properties.count ?? 0)
  }

  /// True if a class that is written by hand is among the superclasses.
  func hasWrittenAncestor(_ entity: Entity) -> Bool { ancestors(of: entity).contains { GeneratedPart(of: $0) != .all } }

  /// The entities above that have a class, nearest first.
  private func ancestors(of entity: Entity) -> [Entity] {
    Array(sequence(first: entity) { ancestor(of: $0) }.dropFirst())
  }
}

/// The Swift names of an entity's properties: those of the model, unless Swift can't have them.
///
/// The key `bobbin.swiftName` in a property's user info gives it another name. A name that every managed object has
/// (`context`), or that is taken, gets an underscore at its end.
struct PropertyNames {
  static let key = "bobbin.swiftName"

  private var names: [String: String] = [:]
  private var taken: Set<String> = []

  /// The Swift name of a property that the names were made of.
  subscript(property: String) -> String { names[property] ?? property }

  func isTaken(_ name: String) -> Bool { taken.contains(name) }

  /// Names the properties of an entity that its superclass has not named yet.
  ///
  /// - Parameter warnings: Gets the names that differ from the model although nobody asked for it.
  /// - Throws: ``ModelError`` for a wanted name that Swift can't have.
  mutating func add(_ entity: Entity, _ warnings: inout [ModelError]) throws(ModelError) {
    let properties = entity.properties.filter { !$0.isHidden }
    let all: [(name: String, wanted: String?, hasHelpers: Bool)] =
      properties.map { property in
        let userInfo = property.attribute?.userInfo ?? property.relationship?.userInfo
        return (property.name, userInfo?[Self.key], property.relationship?.isToMany == true)
      } + entity.entityDescription.fetchedProperties.map { ($0.name, $0.userInfo[Self.key], false) }
    let new = all.filter { names[$0.name] == nil }
    for case (let name, let wanted?, let hasHelpers) in new {
      guard SwiftNames.isIdentifier(wanted), !SwiftNames.reservedProperties.contains(wanted) else {
        throw ModelError(
          .invalidName, "\"\(wanted)\" (\(Self.key)) can't name a property in Swift", entity: entity.name,
          property: name)
      }
      guard reserve(wanted, hasHelpers) else {
        throw ModelError(
          .invalidName, "\"\(wanted)\" (\(Self.key)) is the name of another property in Swift", entity: entity.name,
          property: name)
      }
      names[name] = wanted
    }
    for (name, wanted, hasHelpers) in new where wanted == nil {
      var free = name
      while !SwiftNames.isIdentifier(free) || SwiftNames.reservedProperties.contains(free) || !reserve(free, hasHelpers)
      {
        free += "_"
      }
      names[name] = free
      if free == name { continue }
      let reason =
        SwiftNames.reservedProperties.contains(name)
        ? "every managed object has a property \"\(name)\"" : "Swift can't have this name"
      warnings.append(
        ModelError(
          .invalidName,
          "\(reason), so this one is \"\(free)\" in Swift; \(Self.key) in its user info gives it another name",
          entity: entity.name, property: name))
    }
  }

  /// Reserves a name and, for a to-many relationship, that of its `addTo` method; false if one of them is taken.
  private mutating func reserve(_ name: String, _ hasHelpers: Bool) -> Bool {
    let names = [name] + (hasHelpers ? ["addTo" + name.prefix(1).uppercased() + name.dropFirst()] : [])
    if names.contains(where: taken.contains) { return false }
    taken.formUnion(names)
    return true
  }
}
