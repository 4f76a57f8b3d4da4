import ObjectGraph

// What the contexts show beside what the model says.

extension Trial {
  /// Compares everything that a new child of a context sees, which knows nothing but what is pending and stored.
  func look(_ number: Int) throws {
    let child = ManagedObjectContext(parent: contexts[number], name: "look at \(program.name(number))")
    try child.performAndWait { child in
      let schema = model.schema
      let all = model.all(number)
      var found: [Int: ManagedObject] = [:]
      for entity in schema.entities where entity.parent == nil {
        for object in try child.fetch(FetchRequest<ManagedObject>(entity: entity.name, nil)) {
          found[try self.number(object.objectID)] = object
        }
      }
      try expect(Set(found.keys), Set(all.keys), "the objects of \(program.name(number))")
      for (object, row) in all.sorted(by: { $0.key < $1.key }) {
        guard let shown = found[object] else { continue }
        try compare(shown, object, row, number, includingToMany: true, child)
      }
    }
  }

  /// Compares the values of the objects that a context has in memory.
  func compareObjects(_ number: Int, _ context: isolated ManagedObjectContext) throws {
    for shown in context.registeredObjects.sorted(by: { $0.objectID.key < $1.objectID.key }) {
      let object = try self.number(shown.objectID)
      let row = model.shown(object, number)
      // Nobody has asked yet whether it is still there.
      if shown.isFault, row == nil { continue }
      if shown.isDeleted != (row == nil) { throw Mismatch("\(program.name(number)) shows o\(object) as \(shown)") }
      guard let row else { continue }
      try compare(shown, object, row, number, includingToMany: !model.contexts[number].mayBeStale, context)
    }
  }

  private func compare(
    _ shown: ManagedObject, _ object: Int, _ row: Row, _ number: Int, includingToMany: Bool,
    _ context: isolated ManagedObjectContext
  ) throws {
    let schema = model.schema
    let place = program.name(number)
    try expect(shown.entity.name, schema.entities[row.entity].name, "\(place): the entity of o\(object)")
    for attribute in schema.attributes(of: row.entity) {
      let value = shown[attribute: attribute.name] ?? .null
      let expected: Value = if case .value(let value)? = row.cells[attribute.name] { value } else { .null }
      try expect(value.literal, expected.literal, "\(place): o\(object).\(attribute.name)")
    }
    for end in schema.ends(of: row.entity) {
      if end.storage == .reference {
        let destination = shown.value(forKey: end.name) as? ManagedObject
        let found = try destination.map { "o\(try self.number($0.objectID))" } ?? "nil"
        var expected = "nil"
        if case .reference(let other)? = row.cells[end.name] { expected = "o\(other)" }
        try expect(found, expected, "\(place): o\(object).\(end.name)")
      } else if includingToMany {
        let expected = model.destinations(object, end, number)
        let value = shown.value(forKey: end.name)
        let objects = value as? [ManagedObject] ?? Array(value as? Set<ManagedObject> ?? [])
        let found = try objects.map { try self.number($0.objectID) }
        try expect(
          end.shape.isOrdered ? found : found.sorted(), expected, "\(place): o\(object).\(end.name)")
      }
    }
  }

  /// Compares which objects a context has changed, and checks its invariants.
  func compareChanges(_ number: Int, _ context: isolated ManagedObjectContext) throws {
    try context.checkInvariants()
    let changes = model.contexts[number].changes
    for shown in context.registeredObjects {
      let object = try self.number(shown.objectID)
      let change = changes[object]
      let isExpected = change.map { $0.kind != .forgotten } ?? false
      // What was inserted and deleted again is there until the save and nobody's business.
      if change?.kind == .forgotten { continue }
      if shown.hasChanges != isExpected {
        throw Mismatch(
          "\(program.name(number)) has \(shown), in the model o\(object) has \(isExpected ? "" : "no ")changes")
      }
    }
    let hasLinks = !model.changedLinks(number).isEmpty
    if context.hasChanges != (hasLinks || changes.values.contains { $0.kind != .forgotten }) {
      throw Mismatch("\(program.name(number)) says hasChanges == \(context.hasChanges)")
    }
  }

  // MARK: Fetches

  func fetch(_ query: Query, _ number: Int, _ context: isolated ManagedObjectContext) throws {
    let place = program.name(number)
    guard let request = try request(query) else { return }
    let ids = try context.fetchIDs(request)
    let count = try context.count(for: request)
    let objects = try context.fetch(request).map(\.objectID)
    let matches = model.matches(query, number)
    var expected = matches
    if let limit = query.limit { expected = Array(expected.prefix(limit)) }
    try expect(count, expected.count, "\(place): the count of \(query)")
    for found in [try ids.map(self.number), try objects.map(self.number)] {
      if query.limit == nil { try expect(Set(found), Set(expected), "\(place): \(query)") }
      try expect(found.count, expected.count, "\(place): the number of \(query)")
      // Those that the sort leaves equal have no particular order.
      try expect(
        found.map { model.sortKey($0, query, number) }, expected.map { model.sortKey($0, query, number) },
        "\(place): the order of \(query)")
      if !Set(found).isSubset(of: Set(matches)) { throw Mismatch("\(place): \(query) finds \(found)") }
    }
    if query.refreshes {
      for object in matches where model.contexts[number].changes[object] == nil {
        if model.contexts[number].held[object] != nil, try ids.contains(id(object)) {
          model.contexts[number].held[object] = model.fetched(object, number)
        }
      }
    }
  }

  func request(_ query: Query) throws -> FetchRequest<ManagedObject>? {
    let schema = model.schema
    guard let entity = schema.entity(named: query.entity) else { return nil }
    func isKnown(_ test: Query.Test) -> Bool {
      switch test {
      case .equal(let name, _), .atLeast(let name, _): schema.attribute(name, of: entity) != nil
      case .leadsTo(let name, let other):
        schema.end(name).map { end in
          schema.isKind(entity, of: end.owner)
            && other.map { number in
              ids[number] != nil && (model.entities[number].map { schema.isKind($0, of: end.destination) } ?? false)
            } ?? true
        } ?? false
      case .count(let name, _): schema.end(name).map { schema.isKind(entity, of: $0.owner) } ?? false
      case .any(let name, let attribute, _):
        schema.end(name).map {
          schema.isKind(entity, of: $0.owner) && schema.attribute(attribute, of: $0.destination) != nil
        } ?? false
      case .not(let test): isKnown(test)
      case .both(let first, let second): isKnown(first) && isKnown(second)
      }
    }
    if let test = query.test, !isKnown(test) { return nil }
    if let name = query.sortBy, schema.attribute(name, of: entity) == nil { return nil }
    var request = FetchRequest<ManagedObject>(
      entity: query.entity, try query.test.map(condition), sortBy: query.sortBy.map { [.ascending($0)] } ?? [],
      limit: query.limit)
    request.includesSubentities = query.includesSubentities
    request.shouldRefreshRefetchedObjects = query.refreshes
    return request
  }

  private func condition(_ test: Query.Test) throws -> Condition {
    func format(_ text: String, _ value: Value) throws -> Condition {
      value.isNull
        ? try Condition(format: text.replacing("%@", with: "nil"), arguments: [])
        : try Condition(format: text, arguments: [value.unwrapped])
    }
    return switch test {
    case .equal(let name, let value): try format("\(name) == %@", value)
    case .atLeast(let name, let value): try format("\(name) >= %@", value)
    case .leadsTo(let name, let other):
      try other.map { try Condition(format: "\(name) == %@", arguments: [try id($0)]) }
        ?? Condition(format: "\(name) == nil", arguments: [])
    case .count(let name, let count): try Condition(format: "\(name).@count >= \(count)", arguments: [])
    case .any(let name, let attribute, let value): try format("ANY \(name).\(attribute) == %@", value)
    case .not(let test): .not(try condition(test))
    case .both(let first, let second): .and([try condition(first), try condition(second)])
    }
  }

  // MARK: Names

  func number(_ id: ManagedObjectID) throws -> Int {
    guard let number = numbers[id] else { throw Mismatch("\(id) is an object that nobody inserted") }
    return number
  }

  private func id(_ number: Int) throws -> ManagedObjectID {
    guard let id = ids[number] else { throw Mismatch("o\(number) has no ID") }
    return id
  }

  private func expect<Shown: Equatable>(_ found: Shown, _ expected: Shown, _ what: @autoclosure () -> String) throws {
    if found != expected { throw Mismatch("\(what()) is \(found), \(expected) in the model") }
  }
}
