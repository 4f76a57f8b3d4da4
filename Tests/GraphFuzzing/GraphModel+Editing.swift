import ObjectModel

// What a program does to objects, with inverses and delete rules.

extension GraphModel {
  mutating func insert(_ number: Int, _ entity: Int, _ values: [String: Value], _ context: Int) {
    var cells: [String: Cell] = [:]
    for attribute in schema.attributes(of: entity) where !attribute.defaultValue.isNull {
      cells[attribute.name] = .value(attribute.defaultValue)
    }
    for (name, value) in values { cells[name] = value.isNull ? nil : .value(value) }
    let row = identified(Row(entity: entity, cells: cells))
    event[number] = .some(nil)
    entities[number] = entity
    contexts[context].changes[number] = Change(kind: .insert, row: row, base: nil)
  }

  /// Sets one cell of an object in a context; from then on it shows its own values and not those above.
  mutating func write(_ number: Int, _ name: String, _ cell: Cell?, _ context: Int) {
    touch(number, context)
    if contexts[context].changes[number]?.kind == .touch, let row = shown(number, context) {
      contexts[context].changes[number] = Change(kind: .update, row: row, base: row)
    }
    contexts[context].changes[number]?.row?.cells[name] = cell
    let identity = drawIdentity()
    contexts[context].changes[number]?.row?.identity = identity
  }

  /// Makes an object one with changes, whatever becomes of it.
  mutating func touch(_ number: Int, _ context: Int) {
    guard let row = shown(number, context) else { return }
    note(number, row)
    if valueChange(number, context) != nil { return }
    contexts[context].changes[number] = Change(kind: .touch, row: row, base: row)
  }

  private mutating func note(_ number: Int, _ row: Row) {
    if event[number] == nil { event[number] = .some(row) }
  }

  mutating func set(_ number: Int, _ name: String, _ value: Value, _ context: Int) {
    write(number, name, value.isNull ? nil : .value(value), context)
  }

  // MARK: Relationships

  func reference(_ number: Int, _ name: String, _ context: Int) -> Int? {
    if case .reference(let other)? = shown(number, context)?.cells[name] { other } else { nil }
  }

  mutating func relate(_ number: Int, _ end: Schema.End, _ destination: Int?, _ context: Int) {
    let former = reference(number, end.name, context)
    if former == destination { return }
    write(number, end.name, destination.map(Cell.reference), context)
    guard let inverse = end.inverse.map({ schema.ends[$0] }) else { return }
    if inverse.storage == .references {
      if let name = end.placeName { write(number, name, destination.map { _ in .place(drawPlace()) }, context) }
      related.formUnion([former, destination].compactMap { $0 })
      return
    }
    if let former { clear(former, inverse.name, leadingTo: number, context) }
    if let destination { relate(destination, inverse, for: number, end, context) }
  }

  /// Relates an object to its new owner; whoever had it before loses it.
  mutating func relate(
    _ destination: Int, _ inverse: Schema.End, for number: Int, _ end: Schema.End, _ context: Int
  ) {
    if let previous = reference(destination, inverse.name, context), previous != number {
      clear(previous, end.name, leadingTo: destination, context)
    }
    write(destination, inverse.name, .reference(number), context)
  }

  /// Sets a to-one relationship to nil if it leads to that object.
  mutating func clear(_ number: Int, _ name: String, leadingTo other: Int, _ context: Int) {
    if reference(number, name, context) == other { write(number, name, nil, context) }
  }

  mutating func add(_ other: Int, to number: Int, _ end: Schema.End, _ context: Int) {
    if end.storage == .references, let inverse = end.inverse.map({ schema.ends[$0] }) {
      return relate(other, inverse, number, context)
    }
    let inverseIsOrdered = end.inverse.map { schema.ends[$0].shape.isOrdered } ?? false
    // What is linked already keeps its place.
    let isOrdered = end.shape.isOrdered || inverseIsOrdered
    if isOrdered, destinations(number, end, context).contains(other) { return }
    let place = end.shape.isOrdered ? drawPlace() : nil
    setLink(number, end, other, isPresent: true, place, inverseIsOrdered ? drawPlace() : nil, context)
  }

  mutating func remove(_ other: Int, from number: Int, _ end: Schema.End, _ context: Int) {
    if end.storage == .references, let inverse = end.inverse.map({ schema.ends[$0] }) {
      if reference(other, inverse.name, context) == number { relate(other, inverse, nil, context) }
      return
    }
    setLink(number, end, other, isPresent: false, nil, nil, context)
  }

  mutating func assign(_ others: [Int], to number: Int, _ end: Schema.End, _ context: Int) {
    let present = destinations(number, end, context)
    if end.storage == .links {
      // Links to what was deleted here and not unlinked by a rule still stand.
      for key in links(of: end.relation, context).keys {
        let (own, other) = end.isLeft ? (key.left, key.right) : (key.right, key.left)
        if own == number, isDeleted(other, context) { remove(other, from: number, end, context) }
      }
    } else if let inverse = end.inverse.map({ schema.ends[$0] }) {
      // Nor do the rules of such an object concern one that it does not lead to any more.
      for index in contexts[context].departing.indices
      where contexts[context].departing[index].row.cells[inverse.name] == .reference(number) {
        contexts[context].departing[index].row.cells[inverse.name] = nil
        let other = LastRow(context: context, number: contexts[context].departing[index].number)
        lastRows[other]?.cells[inverse.name] = nil
        related.insert(number)
      }
    }
    for other in present where !others.contains(other) { remove(other, from: number, end, context) }
    for other in others where !present.contains(other) { add(other, to: number, end, context) }
  }

  private mutating func setLink(
    _ number: Int, _ end: Schema.End, _ other: Int, isPresent: Bool, _ place: Double?, _ inversePlace: Double?,
    _ context: Int
  ) {
    related.insert(number)
    if end.inverse != nil { related.insert(other) }
    let relation = end.relation
    if end.isSymmetric {
      record(LinkKey(relation: relation, left: number, right: other), isPresent, place, nil, context)
      record(LinkKey(relation: relation, left: other, right: number), isPresent, inversePlace, nil, context)
    } else if end.isLeft {
      record(LinkKey(relation: relation, left: number, right: other), isPresent, place, inversePlace, context)
    } else {
      record(LinkKey(relation: relation, left: other, right: number), isPresent, inversePlace, place, context)
    }
  }

  private mutating func record(
    _ key: LinkKey, _ isPresent: Bool, _ place: Double?, _ inversePlace: Double?, _ context: Int
  ) {
    let link = LinkState(isPresent: isPresent, place: place, inversePlace: inversePlace)
    if eventLinks[key] == nil { eventLinks[key] = linkRecord(key, context) }
    contexts[context].links[key] = Self.follow(contexts[context].links[key], link)
  }

  /// A later change of a link on top of an earlier one.
  static func follow(_ earlier: LinkState?, _ later: LinkState) -> LinkState {
    guard let earlier, earlier.isPresent, later.isPresent else { return later }
    return LinkState(
      isPresent: true, place: later.place ?? earlier.place, inversePlace: later.inversePlace ?? earlier.inversePlace)
  }

  // MARK: Deleting

  /// Marks an object as deleted; what its rules say happens at the end of the event.
  mutating func delete(_ number: Int, _ context: Int) {
    guard let row = shown(number, context) else { return }
    note(number, row)
    let change = contexts[context].changes[number]
    let isInserted = change?.kind == .insert
    contexts[context].changes[number] =
      isInserted
      ? Change(kind: .forgotten, row: nil, base: nil) : Change(kind: .delete, row: nil, base: change?.base ?? row)
    contexts[context].departing.append((number, row, isInserted))
    lastRows[LastRow(context: context, number: number)] = row
  }

  /// Applies the delete rules of everything that was deleted by this event.
  mutating func propagateDeletes(_ context: Int) {
    while let departing = contexts[context].departing.popLast() {
      for end in schema.ends(of: departing.row.entity) {
        propagate(departing.number, departing.row, departing.wasInserted, end, context)
      }
    }
  }

  private func isDeletedAbove(_ number: Int, _ context: Int) -> Bool {
    ancestors(of: context).compactMap { valueChange(number, $0) }.first.map { $0.kind == .delete } ?? false
  }

  private mutating func propagate(
    _ number: Int, _ row: Row, _ wasInserted: Bool, _ end: Schema.End, _ context: Int
  ) {
    if !wasInserted, end.shape.rule == .noAction || end.shape.rule == .deny {
      if case .reference(let other)? = row.cells[end.name] { related.insert(other) }
      return
    }
    var others: [Int] = []
    switch end.storage {
    case .reference:
      if case .reference(let other)? = row.cells[end.name], shown(other, context) != nil { others = [other] }
    default: others = destinations(number, end, context)
    }
    if end.shape.rule == .cascade { for other in others { delete(other, context) } }
    related.formUnion(others)
    if end.storage == .links {
      // Those to other objects that are deleted go too: nothing may lead from what is gone to what is gone.
      for key in links(of: end.relation, context).keys {
        // A relationship to itself that is not its own inverse has this object at the other end of links, too.
        let (own, other) = end.isLeft ? (key.left, key.right) : (key.right, key.left)
        guard own == number, valueChange(other, context) != nil || !isDeletedAbove(other, context) else { continue }
        setLink(number, end, other, isPresent: false, nil, nil, context)
      }
      return
    }
    guard let inverse = end.inverse.map({ schema.ends[$0] }), inverse.storage == .reference else { return }
    for other in others where shown(other, context)?.cells[inverse.name] == .reference(number) {
      write(other, inverse.name, nil, context)
      if let place = inverse.placeName { write(other, place, nil, context) }
    }
  }
}
