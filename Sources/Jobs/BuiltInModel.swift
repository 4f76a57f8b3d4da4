import Foundation
package import ObjectModel

/// The daemon's own entities, and those that the operator's models add.
package enum BuiltInModel {
  /// Entities that only the daemon writes.
  package static let entityNames = Set(Bobbin.model.entities.map(\.name))

  /// The daemon's model together with those of a program, and with every `.xcdatamodeld` and `.xcdatamodel` of a folder.
  ///
  /// Objects have the classes that the compiled models name.
  /// - Throws: ``ModelError`` that names file, line, entity and property; each entity can be there only once.
  package static func merged(
    withModelsIn path: String, and compiled: [ManagedObjectModel] = []
  ) throws -> ManagedObjectModel {
    var models = [(model: Bobbin.model, owner: "bobbin's own model")]
    for model in compiled { try add(model, of: "the program's models", file: nil, to: &models) }
    for bundle in try bundles(in: path) {
      try add(try ManagedObjectModel(contentsOf: bundle), of: bundle.path, file: bundle.path, to: &models)
    }
    return try ManagedObjectModel(merging: models.map(\.model))
  }

  private static func add(
    _ model: ManagedObjectModel, of owner: String, file: String?,
    to models: inout [(model: ManagedObjectModel, owner: String)]
  ) throws(ModelError) {
    for entity in model.entities {
      guard let other = models.first(where: { $0.model.entitiesByName[entity.name] != nil }) else { continue }
      throw ModelError(
        .invalidName, "an entity of this name is in \(other.owner) already; rename one of them, or take one model out",
        file: file, entity: entity.name)
    }
    models.append((model, owner))
  }

  private static func bundles(in path: String) throws -> [URL] {
    guard FileManager.default.fileExists(atPath: path) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: path).sorted()
      .filter { $0.hasSuffix(".xcdatamodeld") || $0.hasSuffix(".xcdatamodel") }
      .map { URL(fileURLWithPath: path + "/" + $0) }
  }
}
