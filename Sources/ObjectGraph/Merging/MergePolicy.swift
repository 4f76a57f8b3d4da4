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
