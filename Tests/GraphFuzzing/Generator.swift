import ObjectModel

/// Makes up a program step by step, looking at the model for what there is to work on.
struct Generator {
  private var random: RandomSource
  private var lastNumber = 0

  init(seed: UInt64) { random = RandomSource(seed: seed) }

  /// A model, a store and contexts: up to three roots, and chains of up to three.
  mutating func start(seed: UInt64) -> Program {
    // A one-to-one relationship is two references, which merge one by one: programs with one have one context.
    let isAlone = random.chance(15)
    let schema = Schema.random(&random, withOneToOne: isAlone)
    var places: [Program.Place] = []
    for index in 0..<(isAlone ? 1 : random.number(2..<6)) {
      let parents = places.indices.filter { depth($0, places) < 2 }
      let parent = index > 0 && random.chance(65) ? random.pick(parents) : nil
      var place = Program.Place(
        parent: parent, policy: random.chance(50) ? .error : random.pick(Program.Policy.allCases) ?? .error,
        mergesAutomatically: random.chance(25), hasUndo: false)
      if random.chance(30) { place.results = results(schema) }
      places.append(place)
    }
    for index in places.indices where random.chance(20) && !places.contains(where: { $0.parent == index }) {
      places[index].hasUndo = true
    }
    return Program(seed: seed, schema: schema, isInMemory: random.chance(60), places: places)
  }

  private func depth(_ place: Int, _ places: [Program.Place]) -> Int {
    places[place].parent.map { depth($0, places) + 1 } ?? 0
  }

  mutating func step(_ model: GraphModel) -> Step {
    let context = random.number(0..<model.places.count)
    let objects = visible(in: context, model)
    enum Kind {
      case edit, save, fetch, look, objects, hold, letGo, refresh, refreshAll, rollback, reset, merge
      case undo, fetchResults
    }
    let kind = random.pick(weighted: [
      (50, Kind.edit), (24, .save), (8, .fetch), (4, .look), (4, .objects), (5, .hold), (1, .letGo), (3, .refresh),
      (1, .refreshAll), (2, .rollback), (1, .reset), (3, .merge), (8, .undo), (1, .fetchResults),
    ])
    switch kind {
    case .edit:
      let actions = (0..<random.pick(weighted: [(5, 1), (3, 2), (2, 3), (1, 5)])).map { _ in edit(objects, model) }
      return Step(context: context, actions: actions)
    case .save: return Step(context: changedContext(model) ?? context, actions: [.save])
    case .fetch: return Step(context: context, actions: [.fetch(query(objects, model))])
    case .look: return Step(context: context, actions: [.look])
    case .objects: return Step(context: context, actions: [.lookAtObjects])
    case .hold: return Step(context: context, actions: random.pick(objects).map { [.hold($0.number)] } ?? [])
    case .letGo: return Step(context: context, actions: [.letGo])
    case .refresh:
      let merging = random.chance(50)
      return Step(
        context: context,
        actions: random.pick(objects).map { [.refresh($0.number, mergingChanges: merging)] } ?? [])
    case .undo: return Step(context: context, actions: [random.chance(70) ? .undo : .redo])
    case .fetchResults: return Step(context: context, actions: [.fetchResults])
    case .refreshAll: return Step(context: context, actions: [.refreshAll])
    case .rollback: return Step(context: context, actions: [.rollback])
    case .reset: return Step(context: context, actions: [.reset])
    case .merge:
      return Step(
        context: context,
        actions: [.merge(from: random.number(0..<model.places.count), byIDs: random.chance(40))])
    }
  }

  private typealias Visible = (number: Int, entity: Int)

  private func visible(in context: Int, _ model: GraphModel) -> [Visible] {
    var found = model.all(context).mapValues(\.entity)
    for (number, row) in model.contexts[context].held where model.shown(number, context) != nil {
      found[number] = row.entity
    }
    return found.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  private mutating func changedContext(_ model: GraphModel) -> Int? {
    random.pick(model.places.indices.filter { !model.contexts[$0].changes.isEmpty })
  }

  // MARK: Edits

  private mutating func edit(_ objects: [Visible], _ model: GraphModel) -> Action {
    let schema = model.schema
    if objects.isEmpty || (objects.count < 12 && random.chance(25)) { return insert(schema) }
    guard let object = random.pick(objects) else { return insert(schema) }
    if random.chance(18) { return .delete(object.number) }
    let ends = schema.ends(of: object.entity)
    if random.chance(65), let end = random.pick(ends) { return relate(object, end, objects, schema) }
    guard let attribute = random.pick(schema.attributes(of: object.entity)) else { return insert(schema) }
    let isOptional = attribute.isOptional || random.chance(5)
    return .set(object.number, attribute.name, random.value(of: attribute.type, isOptional: isOptional))
  }

  private mutating func insert(_ schema: Schema) -> Action {
    let entity = random.number(0..<schema.entities.count)
    var values: [String: Value] = [:]
    for attribute in schema.attributes(of: entity) {
      let isRequired = !attribute.isOptional && attribute.defaultValue.isNull
      if isRequired ? random.chance(96) : random.chance(40) {
        values[attribute.name] = random.value(of: attribute.type, isOptional: attribute.isOptional)
      }
    }
    lastNumber += 1
    return .insert(entity: schema.entities[entity].name, number: lastNumber, values: values)
  }

  private mutating func relate(
    _ object: Visible, _ end: Schema.End, _ objects: [Visible], _ schema: Schema
  ) -> Action {
    let fitting = objects.filter { schema.isKind($0.entity, of: end.destination) }.map(\.number)
    let other = random.pick(fitting)
    if end.storage == .reference { return .relate(object.number, end.name, random.chance(20) ? nil : other) }
    guard let other else { return .delete(object.number) }
    if !end.shape.isOrdered, random.chance(20) {
      return .assign(object.number, end.name, fitting.shuffled(using: &random).prefix(random.number(0..<4)).sorted())
    }
    return random.chance(70) ? .add(object.number, end.name, other) : .remove(object.number, end.name, other)
  }

  // MARK: Fetches

  private mutating func query(_ objects: [Visible], _ model: GraphModel) -> Query {
    let schema = model.schema
    let entity = random.number(0..<schema.entities.count)
    var query = Query(entity: schema.entities[entity].name, includesSubentities: random.chance(80))
    if random.chance(70) { query.test = test(entity, objects, schema, depth: 1) }
    if random.chance(30) {
      query.sortBy = random.pick(schema.attributes(of: entity).filter { $0.type == .integer64 })?.name
      if query.sortBy != nil, random.chance(40) { query.limit = random.number(0..<4) }
    }
    query.refreshes = random.chance(25)
    return query
  }

  /// What a results controller follows: sorted by a number, and perhaps filtered by an attribute.
  private mutating func results(_ schema: Schema) -> Query? {
    let entity = random.number(0..<schema.entities.count)
    let sorts = schema.attributes(of: entity).filter { $0.type == .integer64 }
    guard let sort = random.pick(sorts) else { return nil }
    var query = Query(entity: schema.entities[entity].name, sortBy: sort.name)
    if random.chance(50), let attribute = random.pick(schema.attributes(of: entity)) {
      query.test = .equal(attribute.name, random.value(of: attribute.type, isOptional: true))
    }
    return query
  }

  private mutating func test(_ entity: Int, _ objects: [Visible], _ schema: Schema, depth: Int) -> Query.Test {
    if depth > 0, random.chance(30) {
      let first = test(entity, objects, schema, depth: depth - 1)
      return random.chance(50) ? .not(first) : .both(first, test(entity, objects, schema, depth: depth - 1))
    }
    let ends = schema.ends(of: entity)
    if random.chance(50), let end = random.pick(ends) {
      if end.storage == .reference {
        return .leadsTo(end.name, random.chance(25) ? nil : random.pick(objects)?.number)
      }
      if random.chance(50), let attribute = random.pick(schema.attributes(of: end.destination)) {
        return .any(end.name, attribute.name, random.value(of: attribute.type, isOptional: false))
      }
      return .count(end.name, random.number(0..<3))
    }
    guard let attribute = random.pick(schema.attributes(of: entity)) else { return .count("", 0) }
    if attribute.type == .integer64, random.chance(40) {
      return .atLeast(attribute.name, random.value(of: attribute.type, isOptional: false))
    }
    return .equal(attribute.name, random.value(of: attribute.type, isOptional: true))
  }
}
