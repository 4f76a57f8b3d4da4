import ObjectModel

/// The class of one entity.
struct ClassSource {
  private let entity: Entity
  private let classes: GeneratedClasses
  private let names: SwiftNames
  private let access: AccessLevel
  private let name: String
  private let propertyNames: PropertyNames

  init(_ entity: Entity, classes: GeneratedClasses, names: SwiftNames, access: AccessLevel) {
    self.entity = entity
    self.classes = classes
    self.names = names
    self.access = access
    propertyNames = classes.propertyNames(of: entity)
    name = SwiftNames.escaped(classes.name(of: entity) ?? entity.name)
  }

  func add(to source: inout SourceText) {
    let ancestor = classes.ancestor(of: entity)
    let superclass = ancestor.flatMap(classes.name).map(SwiftNames.escaped) ?? "ManagedObject"
    source.add(
      comment: entity.entityDescription.userInfo["documentation"] ?? "An object of the entity `\(entity.name)`.")
    source.add("\(access.openModifier)class \(name): \(superclass) {")
    source.indented { source in
      let string = names.library("String")
      source.add(
        "\(access.openModifier)override class var entityName: \(string) { \(SwiftNames.literal(entity.name)) }")
      source.add(
        "\(access.openModifier)override class var isGenerated: \(names.library("Bool")) { self == \(name).self }")
      // The superclass has what its entity has; entities between them that have no class are served here.
      for property in entity.properties.dropFirst(ancestor?.properties.count ?? 0) where !property.isHidden {
        switch property.kind {
        case .attribute(let attribute): AttributeSource(attribute, property, self).add(to: &source)
        case .relationship(let relationship): RelationshipSource(relationship, property, self).add(to: &source)
        }
      }
      for fetched in entity.fetchedProperties(below: ancestor) {
        let type = className(of: classes.entity(named: fetched.entity))
        addProperty(
          swiftName(of: fetched.name), type: "[\(type)]",
          get: "self[fetched: \(SwiftNames.literal(fetched.name)), as: \(type).self]", set: nil,
          documentation: fetched.userInfo["documentation"] ?? "The objects that a fetch finds, each time it is read.",
          to: &source)
      }
      addTable(to: &source)
    }
    source.add("}")
  }

  private func addTable(to source: inout SourceText) {
    let type = "[\(names.library("AnyKeyPath")): \(names.library("String"))]"
    source.add("")
    source.add("// A key path never changes; `AnyKeyPath` just isn't marked as Sendable.")
    source.add(
      prefix: "nonisolated(unsafe) private static let table: \(type) = ",
      list: entity.properties.filter { !$0.isHidden }.map {
        ("\\\(name).\(SwiftNames.escaped(swiftName(of: $0.name)))", SwiftNames.literal($0.name))
      })
    source.add("")
    source.add("\(access.openModifier)override class var propertyNamesByKeyPath: \(type) { table }")
  }

  // For the sources of the properties:

  func library(_ type: String) -> String { names.library(type) }

  var modifier: String { access.modifier }

  /// The class of a relationship's destination.
  func className(of destination: Entity?) -> String {
    var candidate = destination
    while let entity = candidate {
      if let name = classes.name(of: entity) { return SwiftNames.escaped(name) }
      candidate = entity.parent
    }
    return "ManagedObject"
  }

  /// The name of a property in Swift.
  func swiftName(of property: String) -> String { propertyNames[property] }

  /// True if a property has that name in Swift.
  func hasProperty(named name: String) -> Bool { propertyNames.isTaken(name) }

  /// Adds a computed property after a blank line.
  func addProperty(
    _ name: String, type: String, get: String, set: String?, documentation: String?, to source: inout SourceText
  ) {
    source.add("")
    if let documentation { source.add(comment: documentation) }
    source.add("\(modifier)final var \(SwiftNames.escaped(name)): \(type) {")
    source.indented { source in
      guard let set else { return source.add(get) }
      source.add("get { \(get) }")
      source.add("set { \(set) }")
    }
    source.add("}")
  }
}

extension Entity {
  /// Its fetched properties, and those of entities between it and the one that its superclass is of.
  fileprivate func fetchedProperties(below ancestor: Entity?) -> [EntityDescription.FetchedProperty] {
    if self === ancestor { return [] }
    return (parent?.fetchedProperties(below: ancestor) ?? []) + entityDescription.fetchedProperties
  }
}
