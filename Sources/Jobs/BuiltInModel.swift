package import Foundation
package import ObjectModel

/// The daemon's own entities, and those that the operator's models add.
package enum BuiltInModel {
  /// The daemon's own entities alone.
  package static var own: ManagedObjectModel { Bobbin.model }

  /// Entities that only the daemon writes.
  package static let entityNames = Set(Bobbin.model.entities.map(\.name))

  /// Those of them whose objects are the results of jobs.
  package static let pictureEntityNames: Set = ["Image", "ImageBlob"]

  /// The daemon's model together with those of a program, and with every `.xcdatamodeld` and `.xcdatamodel` of a folder.
  ///
  /// Objects have the classes that the compiled models name.
  /// - Throws: ``ModelError`` that names file, line, entity and property; each entity can be there only once.
  ///   ``ModelErrors`` if several files have mistakes.
  package static func merged(
    withModelsIn path: String, and compiled: [ManagedObjectModel] = []
  ) throws -> ManagedObjectModel {
    var models = [(model: Bobbin.model, owner: "bobbin's own model")]
    for model in compiled { try add(model, of: "the program's models", file: nil, to: &models) }
    var errors: [ModelError] = []
    for bundle in try bundles(in: path) {
      do throws(ModelError) {
        try add(try ManagedObjectModel(contentsOf: bundle), of: bundle.path, file: bundle.path, to: &models)
      } catch {
        errors.append(error)
      }
    }
    if errors.count > 1 { throw ModelErrors(errors: errors) }
    if let error = errors.first { throw error }
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

  /// The entities of a merged model that jobs may import into: those of the operator's models and of the program's.
  package static func importable(of model: ManagedObjectModel) -> [Entity] {
    model.entities.filter { !$0.isAbstract && !entityNames.contains($0.name) }
  }

  /// The models in a folder, in the order of their names.
  package static func bundles(in path: String) throws -> [URL] {
    guard FileManager.default.fileExists(atPath: path) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: path).sorted()
      .filter { $0.hasSuffix(".xcdatamodeld") || $0.hasSuffix(".xcdatamodel") }
      .map { URL(fileURLWithPath: path + "/" + $0) }
  }
}

/// The mistakes in several model files, one for each.
package struct ModelErrors: Error, CustomStringConvertible {
  package let errors: [ModelError]

  /// A line for each file.
  package var description: String { errors.map(\.description).joined(separator: "\n") }
}
