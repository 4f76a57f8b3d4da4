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

  func attribute() throws(ModelError) -> AttributeDescription {
    let name = try required("name")
    let typeName = try required("attributeType", property: name)
    if typeName == "Composite" || self["compositeName"] != nil {
      throw error(
        .unknownType,
        "composite attributes can't be kept; give the entity the parts as attributes of its own, or use a "
          + "Transformable", property: name)
    }
    guard let type = AttributeType(rawValue: typeName) else {
      let known = AttributeType.allCases.map(\.rawValue).joined(separator: ", ")
      throw error(.unknownType, "the attribute type \"\(typeName)\" does not exist; there are \(known)", property: name)
    }
    var attribute = AttributeDescription(name, type, isOptional: flag("optional"))
    attribute.defaultValue = try value("defaultValueString", type, property: name)
    if let interval = self["defaultDateTimeInterval"], type == .date {
      attribute.defaultValue = try value(interval, named: "defaultDateTimeInterval", .date, property: name)
    }
    // A text's limits are counts of characters; all others are values of the attribute's own type.
    let limits: AttributeType = type == .string ? .integer64 : type
    attribute.minimum = try value(type == .date ? "minDateTimeInterval" : "minValueString", limits, property: name)
    attribute.maximum = try value(type == .date ? "maxDateTimeInterval" : "maxValueString", limits, property: name)
    attribute.pattern = self["regularExpressionString"]
    attribute.isTransient = flag("transient")
    attribute.allowsExternalBinaryDataStorage = flag("allowsExternalBinaryDataStorage")
    attribute.preservesValueInHistoryOnDeletion = flag("preserveAfterDeletion")
    attribute.usesScalarValue = flag("usesScalarValueType")
    if flag("derived") { attribute.derivation = try required("derivationExpression", property: name) }
    attribute.customClassName = self["customClassName"]
    attribute.valueTransformerName = self["valueTransformerName"]
    attribute.renamingIdentifier = self["elementID"]
    attribute.versionHashModifier = self["versionHashModifier"]
    return attribute
  }

  func relationship() throws(ModelError) -> RelationshipDescription {
    let name = try required("name")
    var relationship = RelationshipDescription(
      name, to: self["destinationEntity"] ?? "", inverse: self["inverseName"], isToMany: flag("toMany"))
    if let text = self["deletionRule"] {
      guard let rule = RelationshipDescription.DeleteRule(rawValue: text) else {
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

  private func flag(_ key: String) -> Bool { attributes[key] == "YES" }

  private func count(_ key: String, property: String) throws(ModelError) -> Int {
    guard let text = attributes[key] else { return 0 }
    guard let count = Int(text), count >= 0 else {
      throw error(.invalidValue, "\(key) \"\(text)\" is no count", property: property)
    }
    return count
  }

  private func value(_ key: String, _ type: AttributeType, property: String) throws(ModelError) -> Value {
    guard let text = attributes[key] else { return .null }
    return try value(text, named: key, type, property: property)
  }

  private func value(
    _ text: String, named key: String, _ type: AttributeType, property: String
  ) throws(ModelError) -> Value {
    guard let value = Value(text, as: type) else {
      throw error(.invalidValue, "\(key) \"\(text)\" is no \(type.rawValue)", property: property)
    }
    return value
  }

  private func error(_ code: ModelError.Code, _ message: String, property: String? = nil) -> ModelError {
    ModelError(code, message, file: file, line: line, entity: entityName, property: property)
  }
}
