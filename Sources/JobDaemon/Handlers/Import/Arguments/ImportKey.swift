import JSONText
import Jobs
import ObjectModel

/// By which properties a record is the same as an object that is there.
struct ImportKey {
  let properties: [Property]

  init(_ reader: ArgumentReader, _ entity: Entity, _ mode: ImportMode) throws(JobFileError) {
    guard let value = reader.value("key") else {
      properties = mode.usesKey ? try Self.constraint(of: entity, reader, mode) : []
      return
    }
    if !mode.usesKey {
      throw reader.error("has no meaning for the mode \"\(mode.rawValue)\"; it is for skip, update and mirror", "key")
    }
    let names = value.string.map { [$0] } ?? value.array?.compactMap(\.string) ?? []
    guard !names.isEmpty, value.array.map({ $0.count == names.count }) ?? true else {
      throw reader.error("must be an attribute or a list of attributes, not \(value.kindName)", "key")
    }
    var properties: [Property] = []
    for name in names {
      guard let property = entity.property(named: name), property.isPersistent, property.derivation == nil else {
        throw reader.error("the entity \"\(entity.name)\" has no property \"\(name)\" to look for", "key")
      }
      properties.append(property)
    }
    guard Self.isIndexed(names, entity) else {
      throw reader.error(
        "objects of \"\(entity.name)\" can't be found by \(names.joined(separator: ", ")) at once; give the entity a "
          + "uniqueness constraint or a fetch index over them in the model", "key")
    }
    self.properties = properties
  }

  /// The properties of the entity's only constraint.
  private static func constraint(
    of entity: Entity, _ reader: ArgumentReader, _ mode: ImportMode
  ) throws(JobFileError) -> [Property] {
    let constraints = Self.constraints(of: entity)
    guard constraints.count == 1 else {
      let reason =
        constraints.isEmpty
        ? "the entity \"\(entity.name)\" has no uniqueness constraint" : "it has several uniqueness constraints"
      throw reader.error("is needed for the mode \"\(mode.rawValue)\", since \(reason)", "key")
    }
    return constraints[0].compactMap(entity.property(named:))
  }

  static func constraints(of entity: Entity) -> [[String]] {
    sequence(first: entity, next: \.parent).flatMap(\.entityDescription.uniquenessConstraints).filter { !$0.isEmpty }
  }

  /// Whether the store finds objects by these properties without looking at all of them.
  static func isIndexed(_ names: [String], _ entity: Entity) -> Bool {
    let wanted = Set(names)
    if constraints(of: entity).contains(where: { wanted.isSuperset(of: Set($0)) }) { return true }
    return sequence(first: entity, next: \.parent).flatMap(\.entityDescription.fetchIndexes).contains { index in
      index.elements.first.map { wanted.contains($0.property) } ?? false
    }
  }
}
