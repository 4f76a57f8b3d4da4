import JSONText
import Jobs
import ObjectModel
import SystemSupport

/// `bobbinctl model show`: prints the entities of models with their properties.
struct ModelShowing: ModelAction {
  let path: String?
  /// The only entity that is asked for; nil for all.
  let entity: String?

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let place = try session.modelPlace(path)
    let model = try place.model()
    // Of the daemon's own entities, the one that is asked for.
    var entities = model.entities.filter { !place.isFolder || !BuiltInModel.entityNames.contains($0.name) }
    if let name = entity {
      guard let entity = model.entitiesByName[name] else {
        let known = entities.map(\.name).sorted().joined(separator: ", ")
        throw ToolError(.notFound, "there is no entity \"\(name)\"", hint: "there are \(known)")
      }
      entities = [entity]
    }
    entities.sort { $0.name < $1.name }
    if session.printsJSON {
      try session.output.write(JSONValue.array(entities.map(Self.json)).serialized() + "\n")
      return .success
    }
    for (place, entity) in entities.enumerated() {
      if place > 0 { try session.output.write("\n") }
      try show(entity, session)
    }
    let requests = entity == nil ? model.fetchRequestTemplates.values.sorted { $0.name < $1.name } : []
    for request in requests {
      let predicate = request.predicate.map { " where \($0)" } ?? ""
      try session.output.write(singleLine("fetch request \(request.name): \(request.entity)\(predicate)") + "\n")
    }
    return .success
  }

  private func show(_ entity: Entity, _ session: Session) throws(ToolError) {
    let description = entity.entityDescription
    var heading = entity.name
    if let parent = entity.parent { heading += ", inherits from \(parent.name)" }
    if entity.isAbstract { heading += ", abstract" }
    if let name = description.className, name != entity.name { heading += ", class \(name)" }
    if let name = description.renamingIdentifier { heading += ", renaming identifier \(name)" }
    try session.output.write(singleLine(heading) + "\n")
    var table = Table(columns: [
      .init(title: "PROPERTY"), .init(title: "TYPE"), .init(title: "REQUIRED"), .init(title: "DEFAULT"),
      .init(title: "RULES"),
    ])
    for property in entity.properties where !property.isHidden {
      // These have columns of their own.
      var rules = property.rules.filter { $0 != "optional" && !$0.hasPrefix("default ") }
      if property.declaringEntity != entity.name { rules.append("of \(property.declaringEntity)") }
      table.rows.append([
        .init(property.name), .init(property.typeName), .init(property.isOptional ? "" : "yes"),
        .init(sentence: property.attribute?.defaultValue.written ?? ""),
        .init(sentence: rules.joined(separator: ", ")),
      ])
    }
    for fetched in description.fetchedProperties {
      let predicate = fetched.predicate.map { "where \($0)" } ?? ""
      table.rows.append([
        .init(fetched.name), .init("fetches \(fetched.entity)"), .init(""), .init(""), .init(sentence: predicate),
      ])
    }
    try session.output.write(table)
    for constraint in description.uniquenessConstraints {
      try session.output.write(singleLine("unique: \(constraint.joined(separator: ", "))") + "\n")
    }
    for index in description.fetchIndexes {
      let elements = index.elements.map { $0.property + ($0.isAscending ? "" : " descending") }
      try session.output.write(singleLine("index \(index.name): \(elements.joined(separator: ", "))") + "\n")
    }
  }

  private static func json(_ entity: Entity) -> JSONValue {
    let description = entity.entityDescription
    let properties = entity.properties.filter { !$0.isHidden }.map { property in
      JSONValue.object([
        "name": .string(property.name), "kind": .string(property.attribute == nil ? "relationship" : "attribute"),
        "type": property.attribute.map { .string($0.type.rawValue) } ?? .null,
        "destination": property.relationship.map { .string($0.destinationEntity) } ?? .null,
        "toMany": .bool(property.relationship?.isToMany ?? false), "optional": .bool(property.isOptional),
        "default": property.attribute?.defaultValue.written.map { .string($0) } ?? .null,
        "rules": .array(property.rules.map { .string($0) }), "declaredBy": .string(property.declaringEntity),
      ])
    }
    return .object([
      "name": .string(entity.name), "parent": entity.parent.map { .string($0.name) } ?? .null,
      "abstract": .bool(entity.isAbstract), "class": description.className.map { .string($0) } ?? .null,
      "properties": .array(properties),
      "unique": .array(
        description.uniquenessConstraints.map { .array($0.map { .string($0) }) }),
      "indexes": .array(
        description.fetchIndexes.map { index in
          .object([
            "name": .string(index.name), "properties": .array(index.elements.map { .string($0.property) }),
          ])
        }),
    ])
  }
}
