import ObjectModel

/// The entities that get a class, and the name of each class.
struct GeneratedClasses {
  /// In the order of the model, those they inherit from first.
  let entities: [Entity]
  let names: Set<String>
  private let model: ManagedObjectModel

  /// - Throws: ``ModelError`` for names that can't be those of classes or properties in Swift.
  init(_ modelFile: ModelFile, file: String) throws(ModelError) {
    model = modelFile.model
    entities = model.entities.filter { Self.className(of: $0) != nil }
    var owners: [String: String] = [:]
    for entity in entities {
      guard let name = Self.className(of: entity) else { continue }
      func fail(_ message: String, property: String? = nil) -> ModelError {
        modelFile.placing(ModelError(.invalidName, message, file: file, entity: entity.name, property: property))
      }
      guard SwiftNames.isIdentifier(name), !SwiftNames.reservedClasses.contains(name) else {
        throw fail("\"\(name)\" can't name a class; give the entity another class")
      }
      if let other = owners.updateValue(entity.name, forKey: name) {
        throw fail("the class \"\(name)\" is the class of \"\(other)\" too; give each entity its own")
      }
      for property in entity.properties where SwiftNames.reservedProperties.contains(property.name) {
        throw fail("every managed object has a property of this name; rename this one", property: property.name)
      }
      for property in entity.properties where property.attribute?.hasInvalidClassName == true {
        let name = property.attribute?.customClassName ?? ""
        throw fail("\"\(name)\" can't be the type of a transformable", property: property.name)
      }
      for fetched in entity.entityDescription.fetchedProperties
      where SwiftNames.reservedProperties.contains(fetched.name) {
        throw fail("every managed object has a property of this name; rename this one", property: fetched.name)
      }
    }
    names = Set(owners.keys)
  }

  /// Whether a property has a type of Foundation.
  var showsFoundation: Bool {
    entities.flatMap(\.properties).contains { property in
      switch property.attribute?.type {
      case .decimal, .date, .binary, .uuid, .uri: true
      case .transformable: property.attribute?.swiftClassName == nil
      case .integer16, .integer32, .integer64, .double, .float, .string, .boolean, nil: false
      }
    }
  }

  func entity(named name: String) -> Entity? { model.entitiesByName[name] }

  /// The class generated for an entity, or nil if there is none.
  func name(of entity: Entity) -> String? { Self.className(of: entity) }

  /// The nearest entity above that has a class.
  func ancestor(of entity: Entity) -> Entity? {
    var ancestor = entity.parent
    while let candidate = ancestor, name(of: candidate) == nil { ancestor = candidate.parent }
    return ancestor
  }

  private static func className(of entity: Entity) -> String? {
    guard entity.entityDescription.userInfo["bobbin.generate"] != "none" else { return nil }
    return entity.entityDescription.className
  }
}
