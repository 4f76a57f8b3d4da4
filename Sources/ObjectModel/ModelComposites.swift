/// The composite attributes of a model file, which are kept as their parts: `home` of the composite `Address` becomes
/// `home_city` and `home_street`.
struct ModelComposites {
  /// A part of a composite, or an attribute of an entity.
  struct Member {
    let attribute: AttributeDescription
    /// The composite that it is of; empty if the file does not tell, nil if it is of none.
    let composite: String?
  }

  private var parts: [String: [Member]] = [:]
  private var current = ""

  /// Begins a composite, which the parts that follow are of.
  mutating func begin(_ name: String) {
    current = name
    parts[name] = []
  }

  mutating func add(_ part: Member) { parts[current, default: []].append(part) }

  /// The attributes that stand for one of an entity: itself, or the parts of its composite.
  func attributes(of member: Member, depth: Int = 0) throws(ModelError) -> [AttributeDescription] {
    guard let told = member.composite else { return [member.attribute] }
    let name = told.isEmpty && parts.count == 1 ? parts.keys.first ?? "" : told
    guard let parts = parts[name] else {
      throw ModelError(
        .unresolvedReference, "is of the composite \"\(name)\", which the model does not define",
        property: member.attribute.name)
    }
    guard depth < 16 else {
      throw ModelError(
        .contradiction, "the composite \"\(name)\" contains itself", property: member.attribute.name)
    }
    var attributes: [AttributeDescription] = []
    for part in parts {
      for var attribute in try self.attributes(of: part, depth: depth + 1) {
        let name = attribute.name
        attribute.name = "\(member.attribute.name)_\(name)"
        attribute.isOptional = attribute.isOptional || member.attribute.isOptional
        attribute.isTransient = attribute.isTransient || member.attribute.isTransient
        attribute.renamingIdentifier = member.attribute.renamingIdentifier.map {
          "\($0)_\(attribute.renamingIdentifier ?? name)"
        }
        attributes.append(attribute)
      }
    }
    return attributes
  }
}
