public import ObjectModel

/// The way a root context resolves conflicts between its save and changes that others have saved.
///
/// It is chosen once, for the coordinator, and inherited by all its contexts; a context may override it.
///
///     coordinator.mergePolicy = .mergeByPropertyObjectTrump
public struct MergePolicy: Sendable, CustomStringConvertible {
  enum Rule: Sendable {
    case error
    case resolve(MergeResolution)
    case custom(@Sendable (MergeConflict) throws -> MergeResolution, constraints: MergeResolution?)
  }

  let rule: Rule
  /// The policy's name, for messages.
  public let description: String

  /// The save throws ``SaveConflicts`` with all conflicts and writes nothing; the default.
  public static let error = MergePolicy(rule: .error, description: "error")
  /// Property by property; where both changed one, the stored value stays.
  public static let mergeByPropertyStoreTrump = MergePolicy(.storeTrump, "merge by property, store trump")
  /// Property by property; where both changed one, the context's value wins.
  public static let mergeByPropertyObjectTrump = MergePolicy(.objectTrump, "merge by property, object trump")
  /// The context's object is written with all its values, whatever is stored.
  public static let overwrite = MergePolicy(.overwrite, "overwrite")
  /// The context's changes of the object are dropped; it has the stored values afterwards.
  public static let rollback = MergePolicy(.rollback, "rollback")

  /// A policy that decides each conflict by a closure.
  ///
  /// - Parameters:
  ///   - name: the policy's name in messages.
  ///   - constraints: the resolution of violated uniqueness constraints; nil makes them an error.
  ///   - resolve: called on the saving context's executor for each version conflict; must not use the context. The save
  ///     throws its errors, without having written anything.
  public static func custom(
    _ name: String = "custom", constraints: MergeResolution? = nil,
    _ resolve: @escaping @Sendable (MergeConflict) throws -> MergeResolution
  ) -> MergePolicy {
    MergePolicy(rule: .custom(resolve, constraints: constraints), description: name)
  }

  private init(_ resolution: MergeResolution, _ name: String) {
    self.init(rule: .resolve(resolution), description: name)
  }

  private init(rule: Rule, description: String) {
    self.rule = rule
    self.description = description
  }

  /// The resolution of violated uniqueness constraints; nil if they are an error.
  var constraintResolution: MergeResolution? {
    switch rule {
    case .error: nil
    case .resolve(let resolution): resolution
    case .custom(_, let constraints): constraints
    }
  }

  /// Returns the resolution of a conflict; nil if it is an error.
  func resolution(of conflict: MergeConflict) throws -> MergeResolution? {
    switch rule {
    case .error: nil
    case .resolve(let resolution): resolution
    case .custom(let resolve, _): try resolve(conflict)
    }
  }
}

/// The resolution of one conflict.
public enum MergeResolution: Sendable {
  /// Both sides' properties; the stored value where both changed one. An object deleted in the store stays deleted.
  case storeTrump
  /// Both sides' properties; the context's value where both changed one. An object deleted in the store is inserted
  /// again.
  case objectTrump
  /// All of the context's values. An object deleted in the store is inserted again.
  case overwrite
  /// The stored values, or the stored delete.
  case rollback
  /// The stored values with these attributes on top; names that the entity does not have are ignored.
  case values([String: Value])
}

/// A conflict about an object whose row has changed since the context's change was made.
///
/// It carries three snapshots by property name: the context's values, those it started from, and the stored ones.
/// References to other objects are shown as URIs.
public struct MergeConflict: Sendable {
  /// The parties of the conflict.
  public enum Kind: Sendable {
    /// Another context of this process has saved or deleted the object, and the coordinator knew it.
    case contextAgainstRowCache
    /// Another process has written to the store, unknown to the coordinator.
    case rowCacheAgainstStore
  }

  /// The parties of the conflict.
  public let kind: Kind
  /// The object that can't be saved as it is.
  public let objectID: ManagedObjectID
  /// The name of its entity.
  public let entityName: String
  /// The version that the change was made against.
  public let expectedVersion: Int64
  /// The version that is stored now, or nil if the object was deleted.
  public let storedVersion: Int64?
  let entity: Entity
  let change: RowChange
  let stored: Row?

  init(_ change: RowChange, stored: Row?, kind: Kind, model: ManagedObjectModel) {
    self.kind = kind
    self.change = change
    self.stored = stored
    let index = change.row?.entityIndex ?? change.base?.entityIndex ?? change.id.entityIndex
    entity = model.entities[Int(index)]
    objectID = change.id
    entityName = entity.name
    expectedVersion = change.base?.version ?? 0
    storedVersion = stored?.version
  }

  /// The values that the context wants to save; nil if it deletes the object.
  public var objectSnapshot: [String: Value]? { snapshot(change.row) }

  /// The values that the context's changes were made against.
  public var cachedSnapshot: [String: Value]? { snapshot(change.base) }

  /// The values in the store; nil if the object was deleted there.
  public var storedSnapshot: [String: Value]? { snapshot(stored) }

  private func snapshot(_ row: Row?) -> [String: Value]? { row.map { $0.snapshot(of: entity) } }
}

extension Row {
  /// The values by property name; binary data that can't be read is left out.
  func snapshot(of entity: Entity) -> [String: Value] {
    var values: [String: Value] = [:]
    for property in entity.properties where property.storage.isStored && !property.isHidden {
      if let attribute = property.attribute {
        values[property.name] = try? value(of: attribute, property.slot)
      } else {
        values[property.name] = referenceIfPresent(property.slot)?.uriRepresentation.map(Value.url) ?? .null
      }
    }
    return values
  }
}

/// A uniqueness constraint that a save would violate: one report per constraint and values.
public struct ConstraintConflict: Sendable {
  /// The entity that has the constraint.
  public let entityName: String
  /// The properties that must be unique together.
  public let properties: [String]
  /// The values, in that order.
  public let values: [Value]
  /// The stored object that has the values already; nil if only objects of the save share them.
  public let storedObjectID: ManagedObjectID?
  /// The objects of the save that have the values, in order.
  public let conflictingObjectIDs: [ManagedObjectID]
}

extension ConstraintConflict: CustomStringConvertible {
  /// Names without values, so that it may be logged.
  public var description: String {
    let names = properties.map { "\(entityName).\($0)" }.joined(separator: ", ")
    let count = conflictingObjectIDs.count + (storedObjectID == nil ? 0 : 1)
    return "\(names) must be unique, and \(count) objects have the same"
  }
}

/// A save that would overwrite what somebody else saved since, or store a unique value twice; nothing was written.
public struct SaveConflicts: Error, Sendable, CustomStringConvertible {
  /// The objects whose stored rows are not those that the changes were made against.
  public let conflicts: [MergeConflict]
  /// The violated uniqueness constraints; looked for only when there are no other conflicts, or these were resolved.
  public let constraintConflicts: [ConstraintConflict]

  init(_ conflicts: [MergeConflict] = [], constraints: [ConstraintConflict] = []) {
    self.conflicts = conflicts
    constraintConflicts = constraints
  }

  /// The first conflicts of each kind and how many more there are; no values.
  public var description: String {
    var reports = conflicts.prefix(3).map { conflict in
      let now = conflict.storedVersion.map { "is at version \($0)" } ?? "was deleted"
      return "\(conflict.entityName) \(conflict.objectID.key), changed at version \(conflict.expectedVersion), \(now)"
    }
    reports += constraintConflicts.prefix(3).map { "\($0)" }
    let more = conflicts.count + constraintConflicts.count - reports.count
    return "the save conflicts with another: " + reports.joined(separator: "; ") + (more > 0 ? " and \(more) more" : "")
  }
}
