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
