import Foundation
import ObjectModel

/// The class that is generated for one entity.
struct ClassSource {
  private let entity: Entity
  private let classes: GeneratedClasses
  private let names: SwiftNames
  private let access: AccessLevel
  /// The class of the entity's objects.
  private let name: String
  /// The generated class: the same, or the superclass of one that is written by hand.
  private let generatedName: String
  private let openModifier: String
  private let propertyNames: PropertyNames

  init(_ entity: Entity, classes: GeneratedClasses, names: SwiftNames, access: AccessLevel) {
    self.entity = entity
    self.classes = classes
    self.names = names
    self.access = access
    propertyNames = classes.propertyNames(of: entity)
    name = SwiftNames.escaped(classes.name(of: entity) ?? entity.name)
    generatedName = SwiftNames.escaped(classes.generatedName(of: entity) ?? entity.name)
    // Only what has an open superclass can be open.
    openModifier = classes.hasWrittenAncestor(entity) ? access.modifier : access.openModifier
  }

  func add(to source: inout SourceText) {
    let ancestor = classes.ancestor(of: entity)
    let superclass = ancestor.flatMap(classes.name).map(SwiftNames.escaped) ?? "ManagedObject"
    source.add(comment: documentation)
    source.add("\(openModifier)class \(generatedName): \(superclass) {")
    source.indented { source in
      let string = names.library("String")
      source.add("\(openModifier)override class var entityName: \(string) { \(SwiftNames.literal(entity.name)) }")
      // Below a class that is written by hand hooks are inherited: it is none of a model's then, as its superclass says.
      if !classes.hasWrittenAncestor(entity) {
        source.add(
          "\(openModifier)override class var isGenerated: \(names.library("Bool")) { self == \(generatedName).self }")
      }
      for property in classes.declaredProperties(of: entity) where !property.isHidden {
        switch property.kind {
        case .attribute(let attribute): AttributeSource(attribute, property, owner: self).add(to: &source)
        case .relationship(let relationship): RelationshipSource(relationship, property, owner: self).add(to: &source)
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

  private var documentation: String {
    if name != generatedName { return "The properties of `\(name)`, which is written by hand as a subclass." }
    return entity.entityDescription.userInfo["documentation"] ?? "An object of the entity `\(entity.name)`."
  }

  private func addTable(to source: inout SourceText) {
    let type = "[\(names.library("AnyKeyPath")): \(names.library("String"))]"
    source.add("")
    source.add("// A key path never changes; `AnyKeyPath` just isn't marked as Sendable.")
    source.add(
      prefix: "nonisolated(unsafe) private static let table: \(type) = ",
      list: classes.knownProperties(of: entity).filter { !$0.isHidden }.map {
        ("\\\(name).\(SwiftNames.escaped(swiftName(of: $0.name)))", SwiftNames.literal($0.name))
      })
    source.add("")
    source.add("\(openModifier)override class var propertyNamesByKeyPath: \(type) { table }")
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

/// The accessors of an attribute.
struct AttributeSource {
  private let attribute: AttributeDescription
  /// The name in Swift.
  private let name: String
  private let slot: Int
  private let owner: ClassSource

  init(_ attribute: AttributeDescription, _ property: Property, owner: ClassSource) {
    self.attribute = attribute
    name = owner.swiftName(of: property.name)
    slot = property.slot
    self.owner = owner
  }

  func add(to source: inout SourceText) {
    switch attribute.type {
    case .integer16: addNumber("Int16", "integer", to: &source) { "\($0)(truncatingIfNeeded: \($1))" }
    case .integer32: addNumber("Int32", "integer", to: &source) { "\($0)(truncatingIfNeeded: \($1))" }
    case .integer64: addNumber("Int64", "integer", to: &source)
    case .double: addNumber("Double", "real", to: &source)
    case .float: addNumber("Float", "real", to: &source) { "\($0)(\($1))" }
    case .boolean: addNumber("Bool", "boolean", to: &source)
    case .string: addValue("String", "text", to: &source)
    case .date: addValue("Date", "date", to: &source)
    case .uuid: addValue("UUID", "uuid", to: &source)
    case .uri: addValue("URL", "url", to: &source)
    case .decimal: addValue("Decimal", "decimal", to: &source)
    case .transformable: addTransformable(&source)
    case .undefined: addUndefined(&source)
    case .binary:
      addValue("Data", "data", to: &source)
      addBlob(&source)
    }
  }

  /// - Parameter narrow: The expression that makes the attribute's type of the wide type that rows have.
  private func addNumber(
    _ libraryType: String, _ label: String, to source: inout SourceText,
    narrow: ((_ type: String, _ value: String) -> String)? = nil
  ) {
    let type = owner.library(libraryType)
    let wide = owner.library(label == "integer" ? "Int64" : label == "real" ? "Double" : "Bool")
    if attribute.isOptional && !attribute.usesScalarValue {
      let place = "self[optional\(label.prefix(1).uppercased() + label.dropFirst()): \(slot)]"
      add(
        type: type + "?", get: narrow.map { "\(place).map { \($0(type, "$0")) }" } ?? place,
        set: place + (narrow == nil ? " = newValue" : " = newValue.map { \(wide)($0) }"), &source)
    } else {
      let place = "self[\(label): \(slot)]"
      add(
        type: type, get: narrow.map { $0(type, place) } ?? place,
        set: place + (narrow == nil ? " = newValue" : " = \(wide)(newValue)"), &source)
    }
  }

  /// A value is optional unless the attribute is not and has a default, which is then read in place of nil.
  private func addValue(_ libraryType: String, _ label: String, to source: inout SourceText) {
    let type = owner.library(libraryType)
    let place = "self[\(label): \(slot)]"
    guard !attribute.isOptional, let fallback = Fallback(attribute, name: name, type: type) else {
      return add(type: type + "?", get: place, set: "\(place) = newValue", &source)
    }
    if let construction = fallback.construction {
      source.add("")
      source.add("private static let \(fallback.constant): \(type) = {")
      source.indented { source in
        source.add("guard let value = \(construction) else {")
        source.indented { $0.add("preconditionFailure(\"the default of \(name) was checked when it was compiled\")") }
        source.add("}")
        source.add("return value")
      }
      source.add("}()")
    }
    add(type: type, get: "\(place) ?? \(fallback.expression)", set: "\(place) = newValue", &source)
  }

  /// A value of the class that the model names; the data itself if it names none, or one of Objective-C.
  private func addTransformable(_ source: inout SourceText) {
    guard let type = attribute.swiftClassName else { return addValue("Data", "data", to: &source) }
    let place = "self[transformable: \(slot), as: \(type).self]"
    add(type: type + "?", get: place, set: "\(place) = newValue", &source)
  }

  /// A value in memory, of the type that the user info names.
  private func addUndefined(_ source: inout SourceText) {
    let named = attribute.userInfo[AttributeDescription.typeKey]
    let type = named ?? "(any \(owner.library("Sendable")))"
    let place = "self[undefined: \(slot), as: \(type).self]"
    add(type: type + "?", get: place, set: "\(place) = newValue", &source)
  }

  private func addBlob(_ source: inout SourceText) {
    let blobName = name + "Blob"
    guard !owner.hasProperty(named: blobName) else { return }
    let place = "self[blob: \(slot)]"
    owner.addProperty(
      blobName, type: owner.library("Blob") + "?", get: place, set: "\(place) = newValue",
      documentation: "The data of `\(name)` by reference: reading it loads nothing.", to: &source)
  }

  /// Adds a property, read-only if it is derived.
  private func add(type: String, get: String, set: String, _ source: inout SourceText) {
    owner.addProperty(
      name, type: type, get: get, set: attribute.derivation == nil ? set : nil,
      documentation: attribute.userInfo["documentation"], to: &source)
  }
}

extension AttributeDescription {
  /// The key in the user info that names the Swift type of a transformable or an attribute without a type.
  static let typeKey = "bobbin.type"

  /// The Swift type of a transformable's values, which must be Codable; nil if it is Data.
  var swiftClassName: String? {
    guard type == .transformable else { return nil }
    if let told = userInfo[Self.typeKey], !told.isEmpty { return told }
    guard let name = namedClass, !Self.isForeign(name), Self.isSwiftType(name) else { return nil }
    return name
  }

  /// True if the model names a type that is invalid in Swift.
  var hasInvalidClassName: Bool {
    guard type == .transformable, userInfo[Self.typeKey] == nil, let name = namedClass else { return false }
    return !Self.isForeign(name) && !Self.isSwiftType(name)
  }

  /// The class that the model names; ".Dataset" is the editor's spelling of "this module's Dataset".
  private var namedClass: String? {
    guard let name = customClassName?.drop(while: { $0 == "." }), !name.isEmpty else { return nil }
    return String(name)
  }

  private static func isSwiftType(_ name: String) -> Bool {
    name.wholeMatch(of: /[\p{L}_\[][\p{L}\p{N}_.,:<>?\[\] ]*/) != nil
  }

  /// True if a type has a part that isn't Codable or that exists on Apple's systems only.
  private static func isForeign(_ name: String) -> Bool {
    words(name).contains { word in
      word.prefixMatch(of: /(NS|UI)\p{Lu}/) != nil || foreignTypes.contains(String(word))
    }
  }

  /// True if a type has a part that Foundation declares.
  static func namesFoundation(_ type: String) -> Bool { words(type).contains { foundationTypes.contains(String($0)) } }

  private static func words(_ type: String) -> [Substring] {
    type.split { !($0.isLetter || $0.isNumber || $0 == "_") }
  }

  private static let foundationTypes: Set<String> = [
    "AttributedString", "CGFloat", "CGPoint", "CGRect", "CGSize", "Calendar", "CharacterSet", "Data", "Date",
    "DateComponents", "DateInterval", "Decimal", "Foundation", "IndexPath", "IndexSet", "Locale", "Measurement",
    "PersonNameComponents", "TimeInterval", "TimeZone", "URL", "URLComponents", "URLRequest", "UUID",
  ]

  private static let foreignTypes: Set<String> = [
    "AVAsset", "Any", "AnyClass", "AnyHashable", "AnyObject", "CKRecord", "CKRecordID", "CKShare", "CLCircularRegion",
    "CLLocation", "CLLocationCoordinate2D", "CLPlacemark", "CLRegion", "CNContact", "MKMapItem", "MKPlacemark",
    "PKDrawing", "id",
  ]
}

/// The default that a generated property returns in place of nil, as Swift source.
struct Fallback {
  /// The name of the constant that holds the default where making it can fail.
  let constant: String
  /// The expression that yields the default.
  let expression: String
  /// The expression that makes the constant, an optional value; nil if the default is a literal.
  let construction: String?

  /// Nil if the attribute has no default.
  ///
  /// - Parameter name: The attribute's name in Swift.
  init?(_ attribute: AttributeDescription, name: String, type: String) {
    constant = SwiftNames.escaped(name + "Default")
    switch attribute.defaultValue {
    case .string(let text):
      construction = nil
      expression = SwiftNames.literal(text)
      return
    case .date(let date):
      construction = nil
      expression = "\(type)(timeIntervalSinceReferenceDate: \(date.timeIntervalSinceReferenceDate))"
      return
    case .decimal(let decimal): construction = "\(type)(string: \"\(decimal)\")"
    case .uuid(let uuid): construction = "\(type)(uuidString: \"\(uuid.uuidString)\")"
    case .url(let url): construction = "\(type)(string: \(SwiftNames.literal(url.absoluteString)))"
    case .data(let data): construction = "\(type)(base64Encoded: \"\(data.base64EncodedString())\")"
    case .null, .integer, .double, .boolean: return nil
    }
    expression = "Self.\(constant)"
  }
}

/// The accessors of a relationship.
struct RelationshipSource {
  private let relationship: RelationshipDescription
  private let property: Property
  private let owner: ClassSource

  init(_ relationship: RelationshipDescription, _ property: Property, owner: ClassSource) {
    self.relationship = relationship
    self.property = property
    self.owner = owner
  }

  func add(to source: inout SourceText) {
    let destination = owner.className(of: property.destination)
    let (label, type) =
      switch (relationship.isToMany, relationship.isOrdered) {
      case (false, _): ("toOne", "\(destination)?")
      case (true, false): ("toMany", "\(owner.library("Set"))<\(destination)>")
      case (true, true): ("ordered", "[\(destination)]")
      }
    let place = "self[\(label): \(property.slot), as: \(destination).self]"
    let name = owner.swiftName(of: property.name)
    owner.addProperty(
      name, type: type, get: place, set: "\(place) = newValue",
      documentation: relationship.userInfo["documentation"], to: &source)
    guard relationship.isToMany else { return }
    let capitalized = name.prefix(1).uppercased() + name.dropFirst()
    source.add("")
    source.add("\(owner.modifier)final func addTo\(capitalized)(_ object: \(destination)) {")
    source.indented { $0.add("add(object, toMany: \(property.slot))") }
    source.add("}")
    source.add("")
    source.add("\(owner.modifier)final func removeFrom\(capitalized)(_ object: \(destination)) {")
    source.indented { $0.add("remove(object, fromMany: \(property.slot))") }
    source.add("}")
    if relationship.isOrdered { addHelpersByIndex(capitalized, destination, to: &source) }
  }

  private func addHelpersByIndex(_ name: String, _ destination: String, to source: inout SourceText) {
    let int = owner.library("Int")
    let helpers = [
      (
        "insertInto\(name)(_ object: \(destination), at index: \(int))",
        "insert(object, ordered: \(property.slot), at: index)"
      ),
      ("removeFrom\(name)(at index: \(int))", "remove(at: index, ordered: \(property.slot))"),
      (
        "replace\(name)(at index: \(int), with object: \(destination))",
        "replace(at: index, with: object, ordered: \(property.slot))"
      ),
      (
        "move\(name)(from index: \(int), to newIndex: \(int))",
        "move(from: index, to: newIndex, ordered: \(property.slot))"
      ),
    ]
    for (signature, body) in helpers {
      source.add("")
      source.add("\(owner.modifier)final func \(signature) {")
      source.indented { $0.add(body) }
      source.add("}")
    }
  }
}
