import Foundation
import FoundationXML

/// Reads the XML that the model editor writes into `.xcdatamodel/contents`.
///
/// The format is known from the files themselves. Elements and attributes without effect here (the editor's layout,
/// code generation, sync) are ignored; a mistake that Core Data tolerates is a warning, and an element that matters and
/// can't be read is an error with its line.
final class ModelReader: NSObject, XMLParserDelegate {
  private(set) var entities: [EntityDescription] = []
  private(set) var configurations: [String: [String]] = [:]
  private(set) var fetchRequestTemplates: [FetchRequestTemplate] = []
  private(set) var versionIdentifiers: Set<String> = []
  /// The mistakes that were ignored.
  private(set) var warnings: [ModelError] = []

  /// The elements that can't be read; one, unless all are looked for.
  private(set) var errors: [ModelError] = []

  private let file: String?
  private let findsAllErrors: Bool
  /// The depth of an element that can't be read, whose content is passed over.
  private var unreadableDepth = Int.max
  private var sawModel = false
  private var path: [String] = []
  private var configuration = ""
  private var composites = ModelComposites()
  /// Attributes of composites ("Entity.attribute"), with the composite's name.
  private var compositeNames: [String: String] = [:]
  /// Properties ("Entity.property") that are marked as indexed.
  private var indexed: Set<String> = []
  private var compoundIndexes: [(entity: Int, properties: [String])] = []
  /// The lines that define entities and properties ("Entity.property"), the last one if there are several.
  private var lines: [String: Int] = [:]

  /// - Parameter findsAllErrors: whether to read on behind an element that can't be read, and to leave it out.
  init(file: String?, findsAllErrors: Bool = false) {
    self.file = file
    self.findsAllErrors = findsAllErrors
  }

  func read(_ xml: Data) throws(ModelError) {
    try check(xml)
    let parser = XMLParser(data: xml)
    parser.delegate = self
    parser.shouldResolveExternalEntities = false
    let complete = parser.parse()
    if let error = errors.first, !findsAllErrors { throw error }
    // The parser is content with a text that ends inside an element.
    guard complete, parser.parserError == nil, path.isEmpty else {
      let line = parser.parserError.flatMap { ($0 as NSError).userInfo["NSXMLParserErrorLineNumber"] as? Int }
      throw ModelError(
        .malformed, "not well-formed XML, or it ends early (libxml2 error \(errorCode(of: parser)))", file: file,
        line: max(line ?? parser.lineNumber, 1))
    }
    guard sawModel else { throw ModelError(.malformed, "holds no <model> element", file: file, line: 1) }
    // What follows would complain of all that leads to what was left out.
    if !errors.isEmpty { return }
    try resolveComposites()
    mend()
  }

  /// Replaces composite attributes with their parts.
  private func resolveComposites() throws(ModelError) {
    if compositeNames.isEmpty { return }
    for place in entities.indices {
      let entity = entities[place]
      var attributes: [AttributeDescription] = []
      for attribute in entity.attributes {
        let composite = compositeNames["\(entity.name).\(attribute.name)"]
        do throws(ModelError) {
          attributes += try composites.attributes(of: .init(attribute: attribute, composite: composite))
        } catch {
          throw placing(
            ModelError(
              error.code, error.message, file: file, entity: entity.name, property: attribute.name))
        }
      }
      entities[place].attributes = attributes
      func renamed(_ name: String) -> String { name.replacing(".", with: "_") }
      entities[place].uniquenessConstraints = entity.uniquenessConstraints.map { $0.map(renamed) }
      for index in entity.fetchIndexes.indices {
        for element in entity.fetchIndexes[index].elements.indices {
          entities[place].fetchIndexes[index].elements[element].property = renamed(
            entity.fetchIndexes[index].elements[element].property)
        }
      }
    }
  }

  /// Repairs contradictions as Core Data does.
  private func mend() {
    for index in compoundIndexes { entities[index.entity].addIndex(over: index.properties) }
    var mending = ModelMending(entities, indexed: indexed)
    fetchRequestTemplates = mending.existing(fetchRequestTemplates)
    configurations = mending.existing(configurations)
    entities = mending.entities
    warnings += mending.warnings.map { warning in
      var warning = warning
      warning.file = file
      return placing(warning)
    }
  }

  /// Refuses what a model never contains: other encodings, and declarations of XML entities, which could expand without
  /// end or name other files.
  private func check(_ xml: Data) throws(ModelError) {
    guard !xml.isEmpty else { throw ModelError(.malformed, "the file is empty", file: file, line: 1) }
    let declared = String(decoding: xml.prefix(200), as: UTF8.self)
      .firstMatch(of: /^\u{feff}?<\?xml[^>]*encoding\s*=\s*["']([^"']*)["']/)
    let isDeclaredUTF8 = declared.map { $0.1.lowercased() == "utf-8" } ?? true
    guard isDeclaredUTF8, !xml.contains(0), String(validating: xml, as: UTF8.self) != nil else {
      throw ModelError(.malformed, "is not UTF-8 text", file: file, line: 1)
    }
    if let declaration = xml.range(of: Data("<!DOCTYPE".utf8)) {
      let line = 1 + xml[..<declaration.lowerBound].count { $0 == UInt8(ascii: "\n") }
      throw ModelError(.malformed, "has a document type declaration, which models don't have", file: file, line: line)
    }
  }

  /// Adds the line to an error that was found when the model was resolved.
  func placing(_ error: ModelError) -> ModelError {
    var placed = error
    guard error.line == nil, let entity = error.entity else { return error }
    placed.line = error.property.flatMap { lines[entity + "." + $0] } ?? lines[entity]
    return placed
  }

  private func errorCode(of parser: XMLParser) -> String {
    parser.parserError.map { String(($0 as NSError).code) } ?? "unknown"
  }

  func parser(
    _ parser: XMLParser, didStartElement element: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    path.append(element)
    // The parser may still report what it had read before it was told to stop.
    guard path.count <= unreadableDepth else { return }
    do throws(ModelError) {
      // Real models are five deep; paths are built for each element, so depth costs its square.
      guard path.count <= 32 else {
        throw ModelError(.malformed, "nests elements too deeply", file: file, line: parser.lineNumber)
      }
      try start(ModelElement(element, attributes, line: parser.lineNumber, file: file, entity: currentEntity))
    } catch {
      errors.append(error)
      unreadableDepth = path.count
      if !findsAllErrors {
        unreadableDepth = 0
        parser.abortParsing()
      }
    }
  }

  func parser(_ parser: XMLParser, didEndElement element: String, namespaceURI: String?, qualifiedName: String?) {
    if path.count == unreadableDepth { unreadableDepth = .max }
    path.removeLast()
  }

  private var currentEntity: String? { path.count > 2 && path[1] == "entity" ? entities.last?.name : nil }

  /// Reads an element by its whole path, so that each case can rely on its parents.
  private func start(_ element: ModelElement) throws(ModelError) {
    let last = entities.count - 1
    switch path.joined(separator: "/") {
    case "model":
      sawModel = true
      let identifiers = element["userDefinedModelVersionIdentifier"] ?? ""
      versionIdentifiers = Set(identifiers.split(separator: ",").map(String.init))
    case "model/entity":
      entities.append(try element.entity())
      lines[entities[last + 1].name] = element.line
    case "model/entity/attribute":
      let attribute = try element.attribute(&warnings)
      entities[last].attributes.append(attribute)
      note(attribute.name, element)
      if let composite = element.composite { compositeNames["\(entities[last].name).\(attribute.name)"] = composite }
    case "model/composite", "model/compositeAttribute":
      composites.begin(try element.required("name"))
    case "model/composite/attribute", "model/compositeAttribute/attribute":
      composites.add(.init(attribute: try element.attribute(&warnings), composite: element.composite))
    case "model/entity/relationship":
      let relationship = try element.relationship()
      entities[last].relationships.append(relationship)
      note(relationship.name, element)
    case "model/entity/fetchedProperty":
      let name = try element.required("name")
      entities[last].fetchedProperties.append(EntityDescription.FetchedProperty(name: name, entity: ""))
      note(name, element)
    case "model/entity/fetchedProperty/fetchRequest":
      let property = entities[last].fetchedProperties.count - 1
      entities[last].fetchedProperties[property].entity = element["entity"] ?? ""
      entities[last].fetchedProperties[property].predicate = element["predicateString"]
    case "model/entity/fetchedProperty/userInfo/entry":
      let property = entities[last].fetchedProperties.count - 1
      entities[last].fetchedProperties[property].userInfo[try element.required("key")] = element["value"] ?? ""
    case "model/fetchRequest":
      fetchRequestTemplates.append(try element.fetchRequestTemplate())
    case "model/entity/uniquenessConstraints/uniquenessConstraint":
      entities[last].uniquenessConstraints.append([])
    case "model/entity/uniquenessConstraints/uniquenessConstraint/constraint":
      let constraint = entities[last].uniquenessConstraints.count - 1
      entities[last].uniquenessConstraints[constraint].append(try element.required("value"))
    case "model/entity/fetchIndex":
      let index = EntityDescription.FetchIndex(name: try element.required("name"), elements: [])
      entities[last].fetchIndexes.append(index)
    case "model/entity/fetchIndex/fetchIndexElement":
      let index = entities[last].fetchIndexes.count - 1
      guard let property = element["property"] else {
        let name = entities[last].fetchIndexes[index].name
        warnings.append(
          element.error(
            .unresolvedReference,
            "the index \"\(name)\" is over the expression \"\(element["expression"] ?? "")\", which is ignored"))
        break
      }
      entities[last].fetchIndexes[index].elements.append(
        EntityDescription.FetchIndex.Element(property: property, isAscending: element["order"] != "descending"))
    case "model/entity/compoundIndexes/compoundIndex":
      compoundIndexes.append((last, []))
    case "model/entity/compoundIndexes/compoundIndex/index":
      compoundIndexes[compoundIndexes.count - 1].properties.append(try element.required("value"))
    case "model/entity/userInfo/entry":
      entities[last].userInfo[try element.required("key")] = element["value"] ?? ""
    case "model/entity/attribute/userInfo/entry":
      let attribute = entities[last].attributes.count - 1
      entities[last].attributes[attribute].userInfo[try element.required("key")] = element["value"] ?? ""
    case "model/entity/relationship/userInfo/entry":
      let relationship = entities[last].relationships.count - 1
      entities[last].relationships[relationship].userInfo[try element.required("key")] = element["value"] ?? ""
    case "model/configuration":
      configuration = try element.required("name")
      configurations[configuration, default: []] = []
    case "model/configuration/memberEntity":
      configurations[configuration, default: []].append(try element.required("name"))
    default: break
    }
  }

  /// Notes a property's line, and whether it is marked as indexed.
  private func note(_ property: String, _ element: ModelElement) {
    guard let entity = entities.last?.name else { return }
    lines[entity + "." + property] = element.line
    if element.flag("indexed") { indexed.insert(entity + "." + property) }
  }
}

/// The composite attributes of a model file, which are kept as their parts: `home` of the composite `Address` becomes
/// `home_city` and `home_street`.
struct ModelComposites {
  /// A part of a composite, or an attribute of an entity.
  struct Member {
    let attribute: AttributeDescription
    /// The name of its composite; empty if the file has none, nil if it has no composite.
    let composite: String?
  }

  private var parts: [String: [Member]] = [:]
  private var current = ""

  /// Begins a composite, which the parts that follow are of.
  mutating func begin(_ name: String) {
    current = name
    parts[name] = []
  }

  mutating func add(_ part: Member) { parts[current, default: []].append(part) }

  /// The attributes that stand for one of an entity: itself, or the parts of its composite.
  func attributes(of member: Member, depth: Int = 0) throws(ModelError) -> [AttributeDescription] {
    guard let told = member.composite else { return [member.attribute] }
    let name = told.isEmpty && parts.count == 1 ? parts.keys.first ?? "" : told
    guard let parts = parts[name] else {
      throw ModelError(
        .unresolvedReference, "is of the composite \"\(name)\", which the model does not define",
        property: member.attribute.name)
    }
    guard depth < 16 else {
      throw ModelError(
        .contradiction, "the composite \"\(name)\" contains itself", property: member.attribute.name)
    }
    var attributes: [AttributeDescription] = []
    for part in parts {
      for var attribute in try self.attributes(of: part, depth: depth + 1) {
        let name = attribute.name
        attribute.name = "\(member.attribute.name)_\(name)"
        attribute.isOptional = attribute.isOptional || member.attribute.isOptional
        attribute.isTransient = attribute.isTransient || member.attribute.isTransient
        attribute.renamingIdentifier = member.attribute.renamingIdentifier.map {
          "\($0)_\(attribute.renamingIdentifier ?? name)"
        }
        attributes.append(attribute)
      }
    }
    return attributes
  }
}
