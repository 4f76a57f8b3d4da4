import Foundation
import FoundationXML

/// Reads the XML that the model editor writes into `.xcdatamodel/contents`.
///
/// The format is known from the files themselves. Elements and attributes that shape nothing here (the layout in the
/// editor, code generation, sync) are passed over; what has a meaning and can't be read is an error with its line.
final class ModelReader: NSObject, XMLParserDelegate {
  private(set) var entities: [EntityDescription] = []
  private(set) var configurations: [String: [String]] = [:]
  private(set) var versionIdentifiers: Set<String> = []

  private let file: String?
  private var failure: ModelError?
  private var sawModel = false
  private var path: [String] = []
  private var configuration: String?

  init(file: String?) { self.file = file }

  func read(_ xml: Data) throws(ModelError) {
    let parser = XMLParser(data: xml)
    parser.delegate = self
    parser.shouldResolveExternalEntities = false
    let complete = parser.parse()
    if let failure { throw failure }
    guard complete else {
      let reason = parser.parserError.map { ($0 as NSError).localizedDescription } ?? "the text ends early"
      throw ModelError(.malformed, "not well-formed XML: \(reason)", file: file, line: parser.lineNumber)
    }
    guard sawModel else { throw ModelError(.malformed, "holds no <model> element", file: file, line: 1) }
  }

  func parser(
    _ parser: XMLParser, didStartElement element: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    path.append(element)
    do throws(ModelError) {
      try start(element, ModelElement(element, attributes, line: parser.lineNumber, file: file, entity: currentEntity))
    } catch {
      failure = error
      parser.abortParsing()
    }
  }

  func parser(_ parser: XMLParser, didEndElement element: String, namespaceURI: String?, qualifiedName: String?) {
    path.removeLast()
    if element == "configuration" { configuration = nil }
  }

  private var currentEntity: String? { path.contains("entity") ? entities.last?.name : nil }

  private func start(_ name: String, _ element: ModelElement) throws(ModelError) {
    let inEntity = path.count >= 3 && path[path.count - 2] == "entity"
    switch name {
    case "model":
      sawModel = true
      if let identifiers = element["userDefinedModelVersionIdentifier"], !identifiers.isEmpty {
        versionIdentifiers = Set(identifiers.split(separator: ",").map(String.init))
      }
    case "entity" where path.dropLast().last == "model": entities.append(try element.entity())
    case "attribute" where inEntity: entities[entities.count - 1].attributes.append(try element.attribute())
    case "relationship" where inEntity:
      entities[entities.count - 1].relationships.append(try element.relationship())
    case "fetchedProperty" where inEntity:
      let property = try EntityDescription.FetchedProperty(name: element.required("name"), entity: "")
      entities[entities.count - 1].fetchedProperties.append(property)
    case "fetchRequest" where path.dropLast().last == "fetchedProperty":
      let last = entities[entities.count - 1].fetchedProperties.count - 1
      entities[entities.count - 1].fetchedProperties[last].entity = element["entity"] ?? ""
      entities[entities.count - 1].fetchedProperties[last].predicate = element["predicateString"]
    case "uniquenessConstraint": entities[entities.count - 1].uniquenessConstraints.append([])
    case "constraint":
      let last = entities[entities.count - 1].uniquenessConstraints.count - 1
      entities[entities.count - 1].uniquenessConstraints[last].append(try element.required("value"))
    case "fetchIndex":
      let index = try EntityDescription.FetchIndex(name: element.required("name"), elements: [])
      entities[entities.count - 1].fetchIndexes.append(index)
    case "fetchIndexElement":
      guard let property = element["property"] else { break }  // an index over an expression: not kept
      let last = entities[entities.count - 1].fetchIndexes.count - 1
      entities[entities.count - 1].fetchIndexes[last].elements.append(
        .init(property: property, isAscending: element["order"] != "descending"))
    case "entry": try userInfo(element)
    case "configuration":
      configuration = try element.required("name")
      configurations[configuration ?? "", default: []] = []
    case "memberEntity":
      if let configuration { configurations[configuration, default: []].append(try element.required("name")) }
    default: break
    }
  }

  private func userInfo(_ element: ModelElement) throws(ModelError) {
    let key = try element.required("key")
    let value = element["value"] ?? ""
    guard let owner = path.dropLast(2).last, !entities.isEmpty else { return }
    let last = entities.count - 1
    switch owner {
    case "entity": entities[last].userInfo[key] = value
    case "attribute": entities[last].attributes[entities[last].attributes.count - 1].userInfo[key] = value
    case "relationship": entities[last].relationships[entities[last].relationships.count - 1].userInfo[key] = value
    default: break
    }
  }
}
