/// An attribute as a model describes it: its type, default and rules.
public struct AttributeDescription: Sendable, Hashable {
  /// The attribute's name, unique among the properties of its entity.
  public var name: String
  /// The type of the values.
  public var type: AttributeType
  /// True if nil is a valid value at a save.
  public var isOptional: Bool
  /// The value of a new object, or nil.
  public var defaultValue: Value
  /// True if the value lives in memory only and is never stored.
  public var isTransient = false
  /// The smallest valid number or date, or the shortest text in characters.
  public var minimum: Value = .null
  /// The largest valid number or date, or the longest text in characters.
  public var maximum: Value = .null
  /// A regular expression that the whole of a text must match.
  public var pattern: String?
  /// True if large binary values are kept in a file beside the store.
  public var allowsExternalBinaryDataStorage = false
  /// True if the value is kept in the history's tombstone when the object is deleted.
  public var preservesValueInHistoryOnDeletion = false
  /// True if a generated class has a plain number or Boolean here even if the attribute is optional.
  public var usesScalarValue = false
  /// The expression a derived attribute is computed from at each save, as the model spells it.
  public var derivation: String?
  /// The name of the class of a transformable's values, as the model spells it.
  public var customClassName: String?
  /// The name of the value transformer of a transformable, as the model spells it.
  public var valueTransformerName: String?
  /// The name this attribute had in an earlier version of the model.
  public var renamingIdentifier: String?
  /// Text that changes the version hash although nothing else differs.
  public var versionHashModifier: String?
  /// Free texts by key, no part of the version hash.
  public var userInfo: [String: String] = [:]

  /// Describes an attribute; the further rules are set through its properties.
  public init(_ name: String, _ type: AttributeType, isOptional: Bool = true, default: Value = .null) {
    self.name = name
    self.type = type
    self.isOptional = isOptional
    self.defaultValue = `default`
  }
}
