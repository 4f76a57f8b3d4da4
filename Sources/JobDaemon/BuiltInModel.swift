import Foundation
import Jobs
package import ObjectModel

/// The daemon's own entities, and what the operator's models add.
package enum BuiltInModel {
  /// Entities that only the daemon writes.
  static let entityNames = Set(Bobbin.model.entities.map(\.name))

  /// The daemon's model together with every `.xcdatamodeld` and `.xcdatamodel` of a folder.
  ///
  /// - Throws: ``ModelError`` that names file, line, entity and property.
  package static func merged(withModelsIn path: String) throws -> ManagedObjectModel {
    var models = [Bobbin.model]
    for bundle in try bundles(in: path) {
      let model = try ManagedObjectModel(contentsOf: bundle)
      if let clash = model.entities.first(where: { entity in models.contains { $0.entitiesByName[entity.name] != nil } }
      ) {
        throw ModelError(
          .invalidName, "another model, or bobbin's own, has an entity of this name already", file: bundle.path,
          entity: clash.name)
      }
      models.append(model)
    }
    return try ManagedObjectModel(merging: models)
  }

  private static func bundles(in path: String) throws -> [URL] {
    guard FileManager.default.fileExists(atPath: path) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: path).sorted()
      .filter { $0.hasSuffix(".xcdatamodeld") || $0.hasSuffix(".xcdatamodel") }
      .map { URL(fileURLWithPath: path + "/" + $0) }
  }
}
