// The parts of migrations that have code, which works on objects of a context.

extension MigrationStage {
  /// Code that changes objects; what it leaves unsaved is saved behind it.
  public typealias Handler = @Sendable (isolated ManagedObjectContext) throws -> Void

  /// Two versions with code between them, all in one transaction: a process that ends in the middle leaves the store as
  /// it was before the stage.
  ///
  /// What differs must be inferable, or be left to a policy.
  /// - Parameters:
  ///   - label: tells the stage from others.
  ///   - from: the earlier model.
  ///   - to: the later model.
  ///   - policies: code for entities whose objects can't be inferred, in the order in which it runs.
  ///   - willMigrate: runs with objects of the earlier model.
  ///   - didMigrate: runs with objects of the later model.
  public static func custom(
    _ label: String, from: ManagedObjectModel, to: ManagedObjectModel,
    policies: [EntityMigrationPolicy] = [], willMigrate: Handler? = nil, didMigrate: Handler? = nil
  ) -> MigrationStage {
    MigrationStage(steps: [
      Step(model: from),
      Step(
        model: to, label: label, before: willMigrate.map(code), after: didMigrate.map(code), policies: policies),
    ])
  }

  private static func code(_ handler: @escaping Handler) -> Code { { try $0.withContext(handler) } }
}

extension EntityMigrationPolicy {
  /// Lets code change each object after inference has taken over what it can.
  ///
  /// What can't be inferred is no error here: the attribute or relationship is nil and the code sets it. An object that it
  /// leaves without a required value makes the migration fail. Objects of entities that inherit from the entity need
  /// policies of their own.
  /// - Parameters:
  ///   - source: the entity in the earlier model.
  ///   - type: the class of its objects in the later one, whose entity may have another name.
  ///   - code: is called with the object as it was, and as it is.
  public static func transform<Object: ManagedObject>(
    _ source: String, into type: Object.Type,
    _ code: @escaping @Sendable (MigrationSource, Object, isolated ManagedObjectContext) throws -> Void
  ) -> EntityMigrationPolicy {
    transform(source, into: type.entityName) { former, object, context in
      guard let object = object as? Object else {
        preconditionFailure("the later model has another class for what \(source) becomes")
      }
      try code(former, object, context)
    }
  }

  /// Lets code change each object after inference has taken over what it can; for entities without a class.
  ///
  /// - Parameters:
  ///   - source: the name of the entity in the earlier model.
  ///   - entity: the name of the entity in the later model; nil if it is the same.
  ///   - code: called for each object, with what it was, what it is, and the context on the later model.
  public static func transform(
    _ source: String, into entity: String? = nil,
    _ code: @escaping @Sendable (MigrationSource, ManagedObject, isolated ManagedObjectContext) throws -> Void
  ) -> EntityMigrationPolicy {
    let renaming = entity.flatMap {
      $0 == source ? nil : [MigrationChoices.Statement.Kind.renameEntity(source, to: $0)]
    }
    return EntityMigrationPolicy(
      source, (renaming ?? []) + [.handle(source)],
      code: each { former, context in
        if let object = former.object(in: context) { try code(former, object, context) }
      })
  }

  /// Lets code make what each object becomes: nothing, one object of any entity, several, or one for many of them.
  ///
  /// References to the objects are nil afterwards, unless code sets them anew.
  public static func replace(
    _ source: String, _ code: @escaping @Sendable (MigrationSource, isolated ManagedObjectContext) throws -> Void
  ) -> EntityMigrationPolicy {
    EntityMigrationPolicy(source, [.dropEntity(source)], code: each(code))
  }

  /// Objects between two saves.
  private static let batchSize = 500

  /// Calls the code for each former object, with one context for all of them.
  private static func each(
    _ code: @escaping @Sendable (MigrationSource, isolated ManagedObjectContext) throws -> Void
  ) -> Code {
    { rows in
      try rows.store.withContext { context in
        var last = Int64.min
        while true {
          let batch = try rows.batch(of: batchSize, after: last, ordinal: context.coordinator.ordinal)
          guard let end = batch.last?.key else { return }
          for source in batch { try code(source, context) }
          if context.hasChanges { try context.save() }
          context.reset()
          last = end
        }
      }
    }
  }
}

extension MigrationSource {
  /// The object that a to-one destination of the earlier model has become; nil if there is none, or if it has
  /// become nothing by itself: the code that replaces it knows more.
  public func destination(_ name: String, in context: isolated ManagedObjectContext) throws -> ManagedObject? {
    try destinationID(name).map(context.object(with:))
  }

  /// The object that this one has become; nil for one that is replaced.
  func object(in context: isolated ManagedObjectContext) -> ManagedObject? {
    successorID.map(context.object(with:))
  }
}

extension MigratingStore {
  /// Runs code with a context on the store as it is now, and saves behind it.
  func withContext(_ code: @Sendable (isolated ManagedObjectContext) throws -> Void) throws {
    let coordinator = PersistentStoreCoordinator(model: model)
    try coordinator.open(PersistentStoreDescription { [self] _, ordinal in try open(coordinatorOrdinal: ordinal) })
    let result = Result {
      try ManagedObjectContext(coordinator: coordinator, name: "migration").performAndWait { context in
        try code(context)
        if context.hasChanges { try context.save() }
      }
    }
    try coordinator.close()
    try result.get()
  }
}
