import ObjectModel

/// A chain of relationships whose destinations are prefetched.
struct PrefetchPath: Sendable {
  /// At least one.
  let relationships: [Property]

  /// - Throws: ``ConditionError`` that names what is no relationship of its entity.
  static func paths(_ keyPaths: [String], from entity: Entity) throws -> [PrefetchPath] {
    var paths: [PrefetchPath] = []
    for keyPath in keyPaths { paths.append(try PrefetchPath(keyPath, from: entity)) }
    return paths
  }

  private init(_ keyPath: String, from entity: Entity) throws {
    var relationships: [Property] = []
    var source = entity
    for name in keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init) {
      guard let property = source.property(named: name) else {
        throw ConditionError(.unknownProperty, "\(source.name) has no property \"\(name)\"", fragment: keyPath)
      }
      guard let destination = property.destination else {
        throw ConditionError(
          .unsupported, "\(source.name).\(name) is an attribute; only relationships are prefetched", fragment: keyPath)
      }
      relationships.append(property)
      source = destination
    }
    self.relationships = relationships
  }
}
