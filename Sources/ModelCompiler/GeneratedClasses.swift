import ObjectModel

/// The entities that get a class, and the name of each class.
struct GeneratedClasses {
  /// In the order of their names, those they inherit from first.
  let entities: [Entity]
  let names: Set<String>

  /// - Parameter xml: the model's text, to find the line of an entity in.
  /// - Throws: ``ModelError`` for names that can't be those of classes or properties in Swift.
  init(_ model: ManagedObjectModel, file: String, xml: String) throws(ModelError) {
    entities = model.entities.filter { Self.className(of: $0) != nil }
    var owners: [String: String] = [:]
    for entity in entities {
      guard let name = Self.className(of: entity) else { continue }
      let line = Self.line(of: entity.name, in: xml)
      func fail(_ message: String, property: String? = nil) -> ModelError {
        ModelError(.invalidName, message, file: file, line: line, entity: entity.name, property: property)
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
    }
    names = Set(owners.keys)
  }

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

  private static func line(of entity: String, in xml: String) -> Int? {
    xml.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .firstIndex { $0.contains("<entity ") && $0.contains(" name=\"\(entity)\"") }.map { $0 + 1 }
  }
}
