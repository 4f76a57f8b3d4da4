public import Foundation

/// The entities that the objects of a store can have, resolved and immutable.
///
/// Made from a model file (``init(contentsOf:version:classes:)``), from descriptions in code, or by merging models.
public final class ManagedObjectModel: Sendable {
  /// The entities, those they inherit from first.
  public let entities: [Entity]
  /// All entities by name, abstract ones too.
  public let entitiesByName: [String: Entity]
  /// The tables that keep the links of many-to-many relationships.
  public let joinTables: [JoinTable]
  /// The names of the entities of each configuration.
  public let configurations: [String: [String]]
  /// The fetch requests that the model defines, by name.
  public let fetchRequestTemplates: [String: FetchRequestTemplate]
  /// The identifiers a modeller gave this version.
  public let versionIdentifiers: Set<String>
  /// The mistakes in the model's file that were ignored or repaired as Core Data does; empty for a model in code.
  public let warnings: [ModelError]
  private let classes: ModelClasses

  /// Resolves descriptions into a model.
  ///
  /// - Parameters:
  ///   - descriptions: The entities, in any order.
  ///   - configurations: Names of entities by the name of their configuration.
  ///   - fetchRequestTemplates: The fetch requests that the model defines.
  ///   - versionIdentifiers: What the model's author calls this version.
  ///   - classes: The Swift classes of objects by the class name the descriptions give, or, where several entities have
  ///     one class name, by "ENTITY.CLASS"; others become plain objects.
  ///   - file: The path to name in errors.
  /// - Throws: ``ModelError`` that names entity and property of the first contradiction.
  public convenience init(
    _ descriptions: [EntityDescription], classes: [String: AnyClass] = [:],
    configurations: [String: [String]] = [:], fetchRequestTemplates: [FetchRequestTemplate] = [],
    versionIdentifiers: Set<String> = [], file: String? = nil
  ) throws(ModelError) {
    try self.init(
      descriptions, classes: classes, configurations: configurations, fetchRequestTemplates: fetchRequestTemplates,
      versionIdentifiers: versionIdentifiers, file: file, warnings: [])
  }

  init(
    _ descriptions: [EntityDescription], classes: [String: AnyClass], configurations: [String: [String]],
    fetchRequestTemplates: [FetchRequestTemplate], versionIdentifiers: Set<String>, file: String?,
    warnings: [ModelError]
  ) throws(ModelError) {
    var resolver = ModelResolver(descriptions, classes: classes, file: file)
    entities = try resolver.resolve()
    joinTables = ModelResolver.makeJoinTables(entities)
    entitiesByName = Dictionary(uniqueKeysWithValues: entities.map { ($0.name, $0) })
    for (configuration, names) in configurations {
      for name in names where entitiesByName[name] == nil {
        throw ModelError(
          .unresolvedReference, "configuration \"\(configuration)\" lists the entity \"\(name)\", which does not exist",
          file: file)
      }
    }
    var templates: [String: FetchRequestTemplate] = [:]
    for template in fetchRequestTemplates {
      guard entitiesByName[template.entity] != nil else {
        throw ModelError(
          .unresolvedReference,
          "the fetch request \"\(template.name)\" is of the entity \"\(template.entity)\", which does not exist",
          file: file)
      }
      if templates.updateValue(template, forKey: template.name) != nil {
        throw ModelError(.invalidName, "the fetch request \"\(template.name)\" is defined twice", file: file)
      }
    }
    self.configurations = configurations
    self.fetchRequestTemplates = templates
    self.versionIdentifiers = versionIdentifiers
    self.warnings = warnings
    self.classes = ModelClasses(classes)
  }

  /// Merges models that have no entity name in common.
  ///
  /// - Throws: ``ModelError`` that names an entity which two models define.
  public convenience init(merging models: [ManagedObjectModel]) throws(ModelError) {
    var configurations: [String: [String]] = [:]
    var classes: [String: AnyClass] = [:]
    for model in models {
      configurations.merge(model.configurations) { $0 + $1 }
      classes.merge(model.classes.byName) { first, _ in first }
    }
    try self.init(
      models.flatMap { $0.entities.map(\.entityDescription) }, classes: classes, configurations: configurations,
      fetchRequestTemplates: models.flatMap(\.fetchRequestTemplates.values),
      versionIdentifiers: models.reduce(into: []) { $0.formUnion($1.versionIdentifiers) }, file: nil,
      warnings: models.flatMap(\.warnings))
  }

  /// The entities of a configuration, in the model's order; nil if there is no such configuration.
  public func entities(inConfiguration name: String) -> [Entity]? {
    configurations[name].map { names in entities.filter { names.contains($0.name) } }
  }

  /// A hash over all entities' hashes, for messages; stores compare entity by entity.
  public var versionHash: VersionHash {
    var hash = VersionHash()
    for entity in entities.sorted(by: { $0.name < $1.name }) {
      hash.combine(entity.name)
      hash.combine(entity.versionHash.description)
    }
    return hash
  }
}

/// The object classes of a model by name.
struct ModelClasses: @unchecked Sendable {
  // @unchecked: a metatype is immutable; `AnyClass` just is not marked so.
  let byName: [String: AnyClass]

  init(_ byName: [String: AnyClass]) { self.byName = byName }
}

extension ManagedObjectModel {
  /// Reads a model from an `.xcdatamodeld` or `.xcdatamodel` bundle, or from the `contents` file of one.
  ///
  /// - Parameters:
  ///   - url: The bundle's folder.
  ///   - version: The name of a version in an `.xcdatamodeld` bundle; nil for the one in `.xccurrentversion`,
  ///     or the only one.
  ///   - classes: The Swift classes of objects by their name in the model.
  /// - Throws: ``ModelError`` that names file, line, entity and property.
  public convenience init(
    contentsOf url: URL, version: String? = nil, classes: [String: AnyClass] = [:]
  ) throws(ModelError) {
    let (xml, file) = try ModelBundle(url).contents(version: version)
    try self.init(xml: xml, classes: classes, file: file.path)
  }

  /// Reads a model from the XML of an `.xcdatamodel`'s `contents` file.
  ///
  /// - Parameters:
  ///   - xml: The text of the file.
  ///   - classes: The Swift classes of objects by their name in the model.
  ///   - file: The path to name in errors.
  /// - Throws: ``ModelError`` that names line, entity and property.
  public convenience init(xml: Data, classes: [String: AnyClass] = [:], file: String? = nil) throws(ModelError) {
    let reader = ModelReader(file: file)
    try reader.read(xml)
    try self.init(reader, classes: classes, file: file)
  }

  /// Resolves what a file says.
  convenience init(_ reader: ModelReader, classes: [String: AnyClass], file: String?) throws(ModelError) {
    do throws(ModelError) {
      try self.init(
        reader.entities, classes: classes, configurations: reader.configurations,
        fetchRequestTemplates: reader.fetchRequestTemplates, versionIdentifiers: reader.versionIdentifiers, file: file,
        warnings: reader.warnings)
    } catch {
      throw reader.placing(error)
    }
  }
}

/// A model with the places of its parts in the file it was read from, for tools that report on that file.
package struct ModelFile {
  package let model: ManagedObjectModel
  private let reader: ModelReader

  package init(xml: Data, classes: [String: AnyClass] = [:], file: String?) throws(ModelError) {
    reader = ModelReader(file: file)
    try reader.read(xml)
    model = try ManagedObjectModel(reader, classes: classes, file: file)
  }

  /// Adds the line of the entity or property that the error names.
  package func placing(_ error: ModelError) -> ModelError { reader.placing(error) }
}
