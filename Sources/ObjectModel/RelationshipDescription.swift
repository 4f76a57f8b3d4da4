/// A relationship as a model describes it: where it leads, its inverse and its rules.
public struct RelationshipDescription: Sendable, Hashable {
  /// The effect on the destinations of deleting the source.
  public enum DeleteRule: String, Sendable, Hashable {
    /// The destinations keep a dangling reference.
    case noAction = "No Action"
    /// The destinations lose their reference to the deleted object.
    case nullify = "Nullify"
    /// The destinations are deleted too.
    case cascade = "Cascade"
    /// The delete is refused while there are destinations.
    case deny = "Deny"
  }

  /// The relationship's name, unique among the properties of its entity.
  public var name: String
  /// The name of the destination entity.
  public var destinationEntity: String
  /// The name of the inverse relationship of the destination entity.
  public var inverse: String?
  /// True if there can be several destinations.
  public var isToMany: Bool
  /// True if the destinations of a to-many relationship have an order.
  public var isOrdered = false
  /// True if there may be no destination.
  public var isOptional = true
  /// True if the relationship is kept in memory only.
  public var isTransient = false
  /// The effect on the destinations of deleting the source.
  public var deleteRule: DeleteRule
  /// The fewest destinations of a to-many relationship that is not empty; 0 for no limit.
  public var minimumCount = 0
  /// The most destinations of a to-many relationship; 0 for no limit.
  public var maximumCount = 0
  /// The name this relationship had in an earlier version of the model.
  public var renamingIdentifier: String?
  /// Text that changes the version hash although nothing else differs.
  public var versionHashModifier: String?
  /// Free texts by key, no part of the version hash.
  public var userInfo: [String: String] = [:]

  /// Describes a relationship; the further rules are set through its properties.
  public init(
    _ name: String, to destinationEntity: String, inverse: String? = nil, isToMany: Bool = false,
    deleteRule: DeleteRule = .nullify
  ) {
    self.name = name
    self.destinationEntity = destinationEntity
    self.inverse = inverse
    self.isToMany = isToMany
    self.deleteRule = deleteRule
  }
}
