import ObjectModel

/// Inserts many objects of one entity straight into the store, in one transaction: none of them becomes an object.
///
/// The fast form lends rows to be filled, and ends when the handler returns true:
///
///     try context.execute(
///       BatchInsertRequest(Person.self) { row in
///         guard row.number < names.count else { return true }
///         row.set(\.firstName, to: names[row.number])
///         row.set(\.age, to: 36)
///         return false
///       })
///
/// The convenient form takes dictionaries by property name: values of attributes, an object's ID for a to-one
/// relationship, an array of IDs for a to-many one. It takes several times as long per row.
///
///     try context.execute(BatchInsertRequest(entity: "Person", rows: [["firstName": "Ada", "department": id]]))
///     try context.execute(BatchInsertRequest(entity: "Person") { $0 < 1_000_000 ? ["age": $0] : nil })
///
/// What a row does not name has its default; a required property that has neither makes the request fail, like a value
/// of another type. Other validation rules are not looked at. Rows that set binary data or relationships take as long
/// as objects, those around them included.
///
/// Where a row has the unique values of a stored object, the context's merge policy decides: `error` makes the request
/// fail, by object trump the stored object takes over what the row names, by store trump it stays as it is.
public struct BatchInsertRequest: PersistentStoreRequest {
  /// The values of one object by property name.
  public typealias Values = [String: (any Sendable)?]

  enum Source: Sendable {
    case rows(@Sendable (inout BatchPacker) throws -> Bool)
    case packed(@Sendable () throws -> RowBatch?)
  }

  /// The name of the entity, which must not be abstract.
  public var entityName: String
  /// The kind of result to return.
  public var resultType = BatchResult.Kind.statusOnly
  let source: Source

  /// Inserts objects of a class's entity, whose rows are filled one by one: the fastest way.
  ///
  /// - Parameters:
  ///   - type: the class, which was generated from the model.
  ///   - handler: sets the values of the row that it is lent and returns false; or returns true if there are no more
  ///     rows, and then the lent one is not inserted. It is called inside of the transaction, on the executor of the
  ///     context, which it must not use. What it throws undoes everything.
  public init<Object: ManagedObject>(
    _ type: Object.Type, handler: @escaping @Sendable (_ row: inout BatchRow<Object>) throws -> Bool
  ) {
    self.init(filling: Object.entityName, handler)
  }

  /// Inserts objects of an entity that is known by name, whose rows are filled one by one by property name.
  ///
  /// - Parameters:
  ///   - entityName: the name of the entity.
  ///   - handler: sets the values of the row that it is lent and returns false, or returns true at the end; as for a
  ///     class.
  public init(
    _ entityName: String, handler: @escaping @Sendable (_ row: inout BatchRow<ManagedObject>) throws -> Bool
  ) {
    self.init(filling: entityName, handler)
  }

  private init<Object: ManagedObject>(
    filling entityName: String, _ handler: @escaping @Sendable (inout BatchRow<Object>) throws -> Bool
  ) {
    self.entityName = entityName
    source = .rows { packer in
      try withUnsafeMutablePointer(to: &packer) { packer in
        var row = BatchRow<Object>(packer)
        return try handler(&row)
      }
    }
  }

  /// Inserts rows that are in memory.
  public init(entity entityName: String, rows: [Values]) {
    self.init(entity: entityName) { $0 < rows.count ? rows[$0] : nil }
  }

  /// Inserts rows that are made one by one, so that memory does not grow with their number.
  ///
  /// - Parameters:
  ///   - entityName: the name of the entity.
  ///   - row: returns the row of that number, from 0, or nil at the end. It is called inside of the transaction, on the
  ///     executor of the context, which it must not use. What it throws undoes everything.
  public init(entity entityName: String, row: @escaping @Sendable (_ number: Int) throws -> Values?) {
    self.entityName = entityName
    source = .rows { packer in
      guard let values = try row(packer.number) else { return true }
      packer.set(values)
      return false
    }
  }

  /// Inserts packed rows, which are as fast as can be; whoever packs them has checked them.
  ///
  /// - Parameter batch: returns the next rows, or nil at the end. Their keys must have been drawn, in order.
  package init(entity entityName: String, batch: @escaping @Sendable () throws -> RowBatch?) {
    self.entityName = entityName
    source = .packed(batch)
  }
}

/// Runs a batch insert.
struct BatchInsertion {
  private let request: BatchInsertRequest

  init(_ request: BatchInsertRequest) { self.request = request }

  func run(_ writer: inout BatchWriter) throws {
    let entity = try entity(writer.coordinator.model)
    switch request.source {
    case .packed(let next):
      while let batch = try next() {
        guard batch.entity === entity else {
          throw ConditionError(.typeMismatch, "packed rows of \(batch.entity.name) can't become \(entity.name)")
        }
        try writer.insert(ChangeSet([], batches: [batch]), givenSlots: [:])
      }
    case .rows(let fill):
      var packer = BatchPacker(entity, writer.coordinator, capacity: BatchWriter.chunkSize)
      var hasMore = true
      while hasMore {
        hasMore = try packer.pack(fill)
        if packer.count > 0 { try insert(&packer, &writer) }
        packer.removeAll()
      }
    }
  }

  private func entity(_ model: ManagedObjectModel) throws -> Entity {
    guard let entity = model.entitiesByName[request.entityName] else {
      throw ConditionError(.unknownEntity, "the model has no entity \"\(request.entityName)\"")
    }
    if entity.isAbstract {
      throw ConditionError(
        .unsupported, "the entity \(entity.name) is abstract and has no objects of its own; insert one that inherits")
    }
    return entity
  }

  private func insert(_ packer: inout BatchPacker, _ writer: inout BatchWriter) throws {
    let entity = packer.entity
    let keys = try writer.transaction.reserveKeys(KeyReservation(root: entity.root, count: packer.count))
    let batch = packer.batch(firstKey: keys.lowerBound)
    let defaults = writer.coordinator.defaults[entity.index]
    let binaries = entity.properties.filter { $0.storage == .blob && !defaults.isNull($0.slot) }
    if packer.extras.isEmpty && binaries.isEmpty {
      for property in entity.requiredColumns {
        if let index = batch.firstNull(property.slot) {
          throw ValidationError.missing(property, of: batch.id(at: index), entity)
        }
      }
      try writer.insert(ChangeSet([], batches: [batch]), givenSlots: [:])
    } else {
      try insert(batch, packer.extras, binaryDefaults: binaries, writer: &writer)
    }
  }

  /// Inserts rows as if they were objects, with what has no place in columns.
  private func insert(
    _ batch: RowBatch, _ extras: [BatchExtra], binaryDefaults: [Property], writer: inout BatchWriter
  ) throws {
    let entity = batch.entity
    let defaults = writer.coordinator.defaults[entity.index]
    var changes = BatchChanges(writer.coordinator, writer.transaction)
    var givenSlots: [ManagedObjectID: [Int]] = [:]
    for index in 0..<batch.count {
      var row = batch.copy(of: index)
      for property in binaryDefaults { row.setBlob(defaults.blob(property.slot), property.slot) }
      changes.insert(batch.id(at: index), row)
      givenSlots[batch.id(at: index)] = batch.givenSlots(of: index)
    }
    for extra in extras {
      let id = batch.id(at: extra.row)
      let slot = extra.property.slot
      switch extra.value {
      case .blob(let blob?): try changes.update(id) { $0.setBlob(blob, slot) }
      case .blob(nil): try changes.update(id) { $0.setNull(slot) }
      case .destinations(let destinations): try changes.set(extra.property, of: id, to: destinations)
      }
      givenSlots[id, default: []].append(slot)
      if let order = extra.property.orderProperty { givenSlots[id, default: []].append(order.slot) }
    }
    for index in 0..<batch.count { try changes.checkRequired(entity, batch.id(at: index)) }
    try writer.insert(changes.changeSet, givenSlots: givenSlots)
  }
}
