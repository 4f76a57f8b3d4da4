/// One XML element of a model file, read as a description.
struct ModelElement {
  private let name: String
  private let attributes: [String: String]
  let line: Int
  private let file: String?
  private let entityName: String?

  init(_ name: String, _ attributes: [String: String], line: Int, file: String?, entity: String?) {
    self.name = name
    self.attributes = attributes
    self.line = line
    self.file = file
    entityName = entity
  }

  subscript(_ key: String) -> String? { attributes[key] }

  func required(_ key: String, property: String? = nil) throws(ModelError) -> String {
    guard let value = attributes[key], !value.isEmpty else {
      throw error(.malformed, "<\(name)> has no \(key)", property: property)
    }
    return value
  }

  func entity() throws(ModelError) -> EntityDescription {
    var entity = EntityDescription(try required("name"), className: className)
    entity.parent = self["parentEntity"].flatMap { $0.isEmpty ? nil : $0 }
    entity.isAbstract = flag("isAbstract")
    entity.renamingIdentifier = self["elementID"]
    entity.versionHashModifier = self["versionHashModifier"]
    return entity
  }

  /// - Parameter warnings: Gets the mistakes that can be ignored.
  func attribute(_ warnings: inout [ModelError]) throws(ModelError) -> AttributeDescription {
    let name = try required("name")
    let type = try attributeType(of: name)
    var attribute = AttributeDescription(name, type, isOptional: flag("optional"))
    let hasInterval = type == .date && self["defaultDateTimeInterval"] != nil
    attribute.defaultValue = defaultValue(
      hasInterval ? "defaultDateTimeInterval" : "defaultValueString", type, property: name, warnings: &warnings)
    // A text's limits are counts of characters; all others are values of the attribute's own type.
    let limits: AttributeType = type == .string ? .integer64 : type
    let (least, most) =
      type == .date ? ("minDateTimeInterval", "maxDateTimeInterval") : ("minValueString", "maxValueString")
    attribute.minimum = limit(least, limits, property: name, warnings: &warnings)
    attribute.maximum = limit(most, limits, property: name, warnings: &warnings)
    attribute.pattern = self["regularExpressionString"].flatMap { $0.isEmpty ? nil : $0 }
    attribute.isTransient = flag("transient")
    attribute.allowsExternalBinaryDataStorage = flag("allowsExternalBinaryDataStorage")
    attribute.preservesValueInHistoryOnDeletion = flag("preserveAfterDeletion")
    attribute.usesScalarValue = flag("usesScalarValueType")
    if flag("derived"), type != .undefined {
      attribute.derivation = try required("derivationExpression", property: name)
    }
    attribute.customClassName = self["customClassName"]
    attribute.valueTransformerName = self["valueTransformerName"]
    attribute.renamingIdentifier = self["elementID"]
    attribute.versionHashModifier = self["versionHashModifier"]
    return attribute
  }

  /// The name of the attribute's composite; empty if the file has none, nil if it has no composite.
  var composite: String? {
    let told = attributes.first { $0.key.lowercased().hasPrefix("composite") }?.value
    return attributes["attributeType"] == "Composite" ? told ?? "" : told
  }

  private func attributeType(of property: String) throws(ModelError) -> AttributeType {
    let typeName = attributes["attributeType"] ?? ""
    if composite != nil { return .undefined }
    if ["", AttributeType.undefined.rawValue, "Object ID", "ObjectID"].contains(typeName) {
      if flag("transient") { return .undefined }
      throw error(
        .unknownType, "the attribute has no type, which only transient ones need not have; choose its type",
        property: property)
    }
    if typeName == "Binary Data" { return .binary }
    guard let type = AttributeType(rawValue: typeName) else {
      let known = AttributeType.allCases.map(\.rawValue).joined(separator: ", ")
      throw error(
        .unknownType, "the attribute type \"\(typeName)\" does not exist; there are \(known)", property: property)
    }
    return type
  }

  func relationship() throws(ModelError) -> RelationshipDescription {
    let name = try required("name")
    var relationship = RelationshipDescription(
      name, to: self["destinationEntity"] ?? "", inverse: self["inverseName"], isToMany: flag("toMany"))
    if let text = self["deletionRule"] {
      guard let rule = RelationshipDescription.DeleteRule(rawValue: text.capitalized) else {
        throw error(.invalidValue, "the deletion rule \"\(text)\" does not exist", property: name)
      }
      relationship.deleteRule = rule
    }
    relationship.isOptional = flag("optional")
    relationship.isOrdered = flag("ordered")
    relationship.isTransient = flag("transient")
    relationship.minimumCount = try count("minCount", property: name)
    relationship.maximumCount = relationship.isToMany ? try count("maxCount", property: name) : 0
    relationship.renamingIdentifier = self["elementID"]
    relationship.versionHashModifier = self["versionHashModifier"]
    return relationship
  }

  func fetchRequestTemplate() throws(ModelError) -> FetchRequestTemplate {
    let name = try required("name")
    var template = FetchRequestTemplate(
      name, entity: try required("entity", property: name),
      predicate: self["predicateString"].flatMap { $0.isEmpty ? nil : $0 })
    template.fetchLimit = try count("fetchLimit", property: name)
    template.fetchBatchSize = try count("fetchBatchSize", property: name)
    template.includesSubentities = self["includeSubentities"] != "NO" && self["includesSubentities"] != "NO"
    template.includesPropertyValues = self["includesPropertyValues"] != "NO"
    template.returnsObjectsAsFaults = self["returnObjectsAsFaults"] != "NO"
    template.returnsDistinctResults = flag("returnDistinctResults")
    return template
  }

  /// The class's name without its module (".Person" is the editor's spelling of "this module's").
  private var className: String? {
    guard let name = self["representedClassName"]?.split(separator: ".").last, name != "NSManagedObject" else {
      return nil
    }
    return String(name)
  }

  func flag(_ key: String) -> Bool { attributes[key].map { Value(lenient: $0, as: .boolean) == true } ?? false }

  private func count(_ key: String, property: String) throws(ModelError) -> Int {
    guard let text = attributes[key], !text.isEmpty else { return 0 }
    guard case .integer(let number)? = Value(lenient: text, as: .integer64), number >= 0,
      let count = Int(exactly: number)
    else {
      throw error(.invalidValue, "\(key) \"\(text)\" is no count", property: property)
    }
    return count
  }

  /// A default as Core Data reads it, with a warning where that is not what the text says.
  private func defaultValue(
    _ key: String, _ type: AttributeType, property: String, warnings: inout [ModelError]
  ) -> Value {
    guard let text = attributes[key], type != .undefined else { return .null }
    let value = Value(lenient: text, as: type)
    if let value, Value(text, as: type) != nil || value.isSpelled(text) || text.isEmpty { return value }
    if value == nil && text.isEmpty { return .null }
    let meaning = value.map { "it counts as \($0.spelling), as in Core Data" } ?? "there is no default then"
    warnings.append(
      error(.invalidValue, "\(key) \"\(text)\" is no \(type.rawValue); \(meaning)", property: property))
    return value ?? .null
  }

  /// A smallest or largest value; none, with a warning, where the text begins with no number.
  private func limit(
    _ key: String, _ type: AttributeType, property: String, warnings: inout [ModelError]
  ) -> Value {
    guard let text = attributes[key], !text.isEmpty, type.hasLimits else { return .null }
    if let value = Value(lenient: text, as: type), Value.isNumber(atStartOf: text) { return value }
    warnings.append(
      error(.invalidValue, "\(key) \"\(text)\" is no \(type.rawValue); there is no such limit then", property: property)
    )
    return .null
  }

  func error(_ code: ModelError.Code, _ message: String, property: String? = nil) -> ModelError {
    ModelError(code, message, file: file, line: line, entity: entityName, property: property)
  }
}

extension AttributeType {
  /// True if values have an order, and so a smallest and a largest one.
  fileprivate var hasLimits: Bool {
    switch self {
    case .integer16, .integer32, .integer64, .decimal, .double, .float, .date: true
    case .string, .boolean, .binary, .uuid, .uri, .transformable, .undefined: false
    }
  }
}

extension Value {
  /// A number or truth value as messages show it.
  fileprivate var spelling: String {
    switch self {
    case .integer(let value): "\(value)"
    case .double(let value): "\(value)"
    case .decimal(let value): "\(value)"
    case .boolean(let value): value ? "YES" : "NO"
    default: "\(self)"
    }
  }
}
