import Foundation
import FoundationXML
import ObjectModel

/// A model that is there already, to which the entities of files are added.
struct GivenModel {
  let path: String
  /// Of the bundle, without its ending.
  let name: String
  /// The version to which entities are added.
  let version: String
  /// The bundle with all its versions; nil for a model that is in none.
  let bundle: String?
  let model: ManagedObjectModel
  private let xml: Data

  init(_ path: String) throws(ToolError) {
    let place = ModelPlace(path)
    model = try place.model()
    do throws(ModelError) { xml = try place.contents().xml } catch { throw ToolError(.unreadableFile, "\(error)") }
    self.path = path
    bundle = place.isVersioned ? place.path : nil
    name = URL(filePath: place.path).deletingPathExtension().lastPathComponent
    version =
      if let version = place.version { version } else { place.isVersioned ? try place.versions().current : name }
  }

  /// A name for the relationship that leads from an entity of the model back to a new one.
  ///
  /// - Parameters:
  ///   - key: The attribute of the entity by which the objects are found.
  ///   - others: The names of such relationships so far.
  func inverse(
    of source: String, at name: String, key: String, besides others: [String]
  ) throws(ToolError) -> String {
    guard let entity = model.entitiesByName[name], entity.property(named: key)?.attribute != nil else {
      throw ToolError(.usage, "\(path) has no attribute \(name).\(key)")
    }
    let owners = sequence(first: entity, next: \.parent).map(\.entityDescription)
    let isIndexed =
      owners.contains { $0.uniquenessConstraints.contains([key]) }
      || owners.contains { $0.fetchIndexes.contains { $0.elements.first?.property == key } }
    guard isIndexed else {
      throw ToolError(
        .usage, "objects of \(name) can't be found by \(key) at once",
        hint: "give the entity a uniqueness constraint or a fetch index over it in the model")
    }
    return ModelNames.inverse(of: source, besides: entity.properties.map(\.name) + others)
  }

  /// The text of the model with more entities, and with the relationships that lead back to them.
  func adding(_ models: [InferredModel]) throws(ToolError) -> String {
    do {
      let document = try XMLDocument(data: xml)
      guard let root = document.rootElement() else { throw CocoaError(.fileReadCorruptFile) }
      for model in models {
        root.addChild(try XMLElement(xmlString: model.element))
        for attribute in model.attributes {
          guard let reference = attribute.reference,
            let owner = root.elements(forName: "entity").first(where: {
              $0.attribute(forName: "name")?.stringValue == reference.entity
            })
          else { continue }
          let inverse = InferredModel.Inverse(
            name: reference.inverse, entity: model.entity, relationship: attribute.name)
          owner.addChild(try XMLElement(xmlString: inverse.element))
        }
      }
      return document.xmlString(options: [.nodePrettyPrint, .nodeCompactEmptyElement])
    } catch { throw ToolError(.unreadableFile, "\(path) can't be added to: \(error)") }
  }
}
