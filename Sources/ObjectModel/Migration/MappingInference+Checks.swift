// Changes that can't be inferred, and mistakes in the decisions.
extension MappingInference {
  mutating func check(_ entity: Entity) {
    // A new entity has no rows, so there is nothing to be filled in.
    guard let former = entities[entity.index] else { return }
    let isHandled = choices.isHandled(former.name)
    for property in entity.properties where !property.isHidden {
      guard let origin = properties[entity.index][property.slot],
        let problem = problem(property, origin, entity, former)
      else { continue }
      // Code sets it: nothing is taken over.
      if isHandled {
        properties[entity.index][property.slot] = nil
      } else if entity.parent?.property(named: property.name) == nil || isFirst(entity) {
        problems.append(problem)
      }
    }
  }

  /// True if an inherited property must be looked at here, because the ancestor that declares it is new.
  private func isFirst(_ entity: Entity) -> Bool { entity.parent.map { entities[$0.index] == nil } ?? true }

  private func problem(
    _ property: Property, _ origin: Property, _ entity: Entity, _ former: Entity
  ) -> MigrationProblem? {
    let spelling = "\(entity.name).\(property.name)"
    let drop = "drop \(former.name).\(origin.name)"
    switch (property.kind, origin.kind) {
    case (.attribute(let new), .attribute(let old)):
      if new.isTransient || new.derivation != nil || old.isTransient { return nil }
      let conversion = ValueConversion(from: old.type, to: new.type)
      if old.type == new.type || conversion?.isInferred == true { return nil }
      let isStated = choices.conversion(of: property, in: entity) != nil
      if conversion != nil && isStated { return nil }
      return MigrationProblem(
        "\(spelling) was \(old.type.rawValue) and is \(new.type.rawValue) now"
          + (isStated ? ", and values of the one can't be converted to the other" : ""),
        remedies: (conversion == nil ? [] : ["convert \(spelling)"]) + [drop])
    case (.relationship(let new), .relationship(let old)):
      if old.isToMany && !new.isToMany {
        return MigrationProblem(
          "\(spelling) was to-many and is to-one now, so it is not told which destination to keep", remedies: [drop])
      }
      guard let formerEnd = origin.destination, let end = property.destination else { return nil }
      // Where nothing is left of what it led to, the links go with their objects.
      if reaches(formerEnd, end) || formerEnd.withDescendants.allSatisfy({ successor(of: $0) == nil }) { return nil }
      let now = successor(of: formerEnd)?.name ?? formerEnd.name
      return MigrationProblem("\(spelling) led to \(now) and leads to \(end.name) now", remedies: [drop])
    case (.relationship, .attribute):
      return MigrationProblem(
        "\(spelling) was an attribute and is a relationship now; give it another name", remedies: [drop])
    case (.attribute, .relationship):
      return MigrationProblem(
        "\(spelling) was a relationship and is an attribute now; give it another name", remedies: [drop])
    }
  }

  /// Checks that the names in the decisions exist: a mistyped name must not pass for a decision.
  mutating func checkChoices() {
    for statement in choices.statements {
      if let text = mistake(in: statement.kind) { problems.append(MigrationProblem("\(statement.place): \(text)")) }
    }
  }

  private func mistake(in kind: MigrationChoices.Statement.Kind) -> String? {
    func missing(_ name: MigrationChoices.PropertyName, in model: ManagedObjectModel, _ what: String) -> String? {
      guard let entity = model.entitiesByName[name.entity] else { return "\(what) has no entity \(name.entity)" }
      return entity.property(named: name.property) == nil ? "\(what) has no property \(name)" : nil
    }
    func missing(_ entity: String, in model: ManagedObjectModel, _ what: String) -> String? {
      model.entitiesByName[entity] == nil ? "\(what) has no entity \(entity)" : nil
    }
    func attribute(_ name: MigrationChoices.PropertyName) -> AttributeDescription? {
      destination.entitiesByName[name.entity]?.property(named: name.property)?.attribute
    }
    func mistake(_ text: String, for name: MigrationChoices.PropertyName) -> String? {
      guard let type = attribute(name)?.type else { return "\(name) is no attribute" }
      return Value(written: text, as: type) == nil ? "\"\(text)\" is no \(type.rawValue)" : nil
    }
    let (store, model) = ("the store's model", "the new model")
    switch kind {
    case .renameEntity(let old, let new):
      return missing(old, in: source, store) ?? missing(new, in: destination, model)
    case .renameProperty(let old, let new):
      if let text = missing(old, in: source, store) { return text }
      guard let origin = source.entitiesByName[old.entity], let entity = successor(of: origin) else {
        return "\(old.entity) is no more"
      }
      return entity.property(named: new) == nil ? "\(model) has no property \(entity.name).\(new)" : nil
    // A kept family is known to the store only.
    case .dropEntity: return nil
    case .handle(let name): return missing(name, in: source, store)
    case .dropProperty(let name): return missing(name, in: source, store)
    case .setDefault(let name, let text):
      return missing(name, in: destination, model) ?? mistake(text, for: name)
    case .convert(let name, let fallback):
      if let text = missing(name, in: destination, model) { return text }
      if case .value(let text) = fallback { return mistake(text, for: name) }
      return attribute(name) == nil ? "\(name) is no attribute" : nil
    case .export(let name): return missing(name, in: source, store)
    }
  }
}
