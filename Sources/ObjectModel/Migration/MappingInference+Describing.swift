extension MappingInference {
  /// The differences for existing and new objects, a sentence for each.
  package var changes: [String] {
    destination.entities.flatMap { entity -> [String] in
      guard let former = entities[entity.index] else { return ["\(entity.name) is new"] }
      let renamed = former.name == entity.name ? [] : ["\(former.name) becomes \(entity.name)"]
      return renamed + changes(of: entity, from: former)
    }
  }

  private func changes(of entity: Entity, from former: Entity) -> [String] {
    var changes: [String] = []
    let own = entity.properties.filter { !$0.isHidden && $0.declaringEntity == entity.name }
    for property in own {
      let spelling = "\(entity.name).\(property.name)"
      guard let origin = origin(of: property, in: entity) else {
        changes.append("\(spelling) is new")
        continue
      }
      if origin.name != property.name { changes.append("\(former.name).\(origin.name) becomes \(spelling)") }
      if let type = property.attribute?.type, let old = origin.attribute?.type, type != old {
        changes.append("\(spelling), \(old.rawValue) so far, becomes \(type.rawValue)")
      }
      if property.relationship != nil, linkOrigin(of: property, in: entity) == nil {
        changes.append("\(spelling) loses its links")
      }
    }
    let kept = entity.properties.compactMap { origin(of: $0, in: entity)?.name }
    for property in former.properties where !property.isHidden && property.declaringEntity == former.name {
      if !kept.contains(property.name) { changes.append("\(former.name).\(property.name) goes") }
    }
    return changes
  }
}
