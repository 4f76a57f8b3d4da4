import Foundation
import Jobs
package import ObjectModel

/// The daemon's own entities, and what the operator's models add.
package enum BuiltInModel {
  /// Entities that only the daemon writes.
  static let entityNames = Set(Bobbin.model.entities.map(\.name))

  /// The daemon's model together with those of a program, and with every `.xcdatamodeld` and `.xcdatamodel` of a folder.
  ///
  /// Objects have the classes that the compiled models name.
  /// - Throws: ``ModelError`` that names file, line, entity and property; each entity can be there only once.
  package static func merged(
    withModelsIn path: String, and compiled: [ManagedObjectModel] = []
  ) throws -> ManagedObjectModel {
    var models = [Bobbin.model]
    for model in compiled { try add(model, to: &models, file: nil) }
    for bundle in try bundles(in: path) {
      try add(try ManagedObjectModel(contentsOf: bundle), to: &models, file: bundle.path)
    }
    return try ManagedObjectModel(merging: models)
  }

  private static func add(
    _ model: ManagedObjectModel, to models: inout [ManagedObjectModel], file: String?
  ) throws(ModelError) {
    if let clash = model.entities.first(where: { entity in models.contains { $0.entitiesByName[entity.name] != nil } })
    {
      throw ModelError(
        .invalidName, "another model, or bobbin's own, has an entity of this name already", file: file,
        entity: clash.name)
    }
    models.append(model)
  }

  private static func bundles(in path: String) throws -> [URL] {
    guard FileManager.default.fileExists(atPath: path) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: path).sorted()
      .filter { $0.hasSuffix(".xcdatamodeld") || $0.hasSuffix(".xcdatamodel") }
      .map { URL(fileURLWithPath: path + "/" + $0) }
  }
}
