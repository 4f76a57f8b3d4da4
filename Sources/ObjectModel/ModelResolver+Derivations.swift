/// Reads and checks the expressions of derived attributes.
extension ModelResolver {
  func tieDerivation(_ property: Property, of entity: Entity) throws(ModelError) {
    guard let attribute = property.attribute, let text = attribute.derivation else { return }
    func fail(_ code: ModelError.Code, _ message: String) -> ModelError {
      ModelError(
        code, "the derivation \"\(text)\" \(message)", file: file, entity: property.declaringEntity,
        property: property.name)
    }
    guard let derivation = Derivation(text) else {
      throw fail(
        .invalidValue,
        "can't be read; there are key paths, canonical:, lowercase:, uppercase:, now(), "
          + "and @count, @sum, @min, @max and @avg of a to-many relationship")
    }
    guard !attribute.isTransient else {
      throw fail(.contradiction, "is of a transient attribute, which is not stored")
    }
    let source = try source(of: derivation, from: entity, fail)
    guard derivation.fits(attribute.type, source: source) else {
      let given = source.map { "of \($0.rawValue) " } ?? ""
      throw fail(.contradiction, "\(given)gives no \(attribute.type.rawValue)")
    }
    property.derivation = derivation
  }

  /// The type of the attribute at the end of a derivation's path; nil if there is none.
  private func source(
    of derivation: Derivation, from entity: Entity, _ fail: (ModelError.Code, String) -> ModelError
  ) throws(ModelError) -> AttributeType? {
    var entity = entity
    for (index, name) in derivation.relationships.enumerated() {
      guard let property = entity.property(named: name), let destination = property.destination else {
        throw fail(.unresolvedReference, "names \"\(name)\", which is no relationship of \(entity.name)")
      }
      let mustBeToMany = derivation.operation.isAggregate && index == derivation.relationships.count - 1
      guard (property.storage == .toMany) == mustBeToMany, property.relationship?.isTransient == false else {
        throw fail(
          .contradiction,
          "needs a \(mustBeToMany ? "to-many" : "to-one") relationship that is stored, and \"\(name)\" is none")
      }
      entity = destination
    }
    guard let name = derivation.attribute else { return nil }
    guard let property = entity.property(named: name), let attribute = property.attribute else {
      throw fail(.unresolvedReference, "names \"\(name)\", which is no attribute of \(entity.name)")
    }
    guard property.isPersistent else { throw fail(.contradiction, "names \"\(name)\", which is not stored") }
    return attribute.type
  }
}

extension Derivation {
  /// True if the results can be values of the type.
  fileprivate func fits(_ type: AttributeType, source: AttributeType?) -> Bool {
    switch operation {
    case .now: return type == .date
    case .count: return type.isInteger || type == .double || type == .float
    case .canonical, .lowercase, .uppercase: return source == .string && type == .string
    case .copy, .min, .max:
      if source == .binary || source == .transformable { return false }
      return source == type || source?.isInteger == true && type.isInteger || source?.isReal == true && type.isReal
    case .sum:
      if source == .decimal { return type == .decimal }
      return source?.isInteger == true && (type.isInteger || type.isReal) || source?.isReal == true && type.isReal
    case .average:
      if source == .decimal { return type == .decimal }
      return (source?.isInteger == true || source?.isReal == true) && type.isReal
    }
  }
}

extension AttributeType {
  fileprivate var isInteger: Bool { [.integer16, .integer32, .integer64].contains(self) }
  fileprivate var isReal: Bool { self == .double || self == .float }
}
