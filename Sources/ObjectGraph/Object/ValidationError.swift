public import ObjectModel

/// Why an object can't be saved: which object, property and rule.
public struct ValidationError: Error, Sendable, CustomStringConvertible {
  /// The rule that is broken; open, so that more can be added.
  public struct Rule: RawRepresentable, Sendable, Hashable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let missingValue = Rule(rawValue: "missing value")
    public static let tooSmall = Rule(rawValue: "too small")
    public static let tooLarge = Rule(rawValue: "too large")
    public static let tooShort = Rule(rawValue: "too short")
    public static let tooLong = Rule(rawValue: "too long")
    public static let patternMismatch = Rule(rawValue: "pattern mismatch")
    public static let tooFewDestinations = Rule(rawValue: "too few destinations")
    public static let tooManyDestinations = Rule(rawValue: "too many destinations")
    public static let deniedDelete = Rule(rawValue: "delete denied")
    /// The value is not of the property's type.
    public static let wrongType = Rule(rawValue: "wrong type")
  }

  public var objectID: ManagedObjectID
  public var entityName: String
  public var property: String?
  /// The value that the property has; of a to-many relationship the number of its destinations.
  public var value: Value
  public var rule: Rule
  /// What is expected instead, in words.
  public var message: String

  public init(_ object: ManagedObject, property: String?, value: Value = .null, rule: Rule, message: String) {
    objectID = object.objectID
    entityName = object.entity.name
    self.property = property
    self.value = value
    self.rule = rule
    self.message = message
  }

  public var description: String { "\(entityName)\(property.map { ".\($0)" } ?? "") \(message)" }
}

/// Several objects or properties that can't be saved.
public struct ValidationErrors: Error, Sendable, CustomStringConvertible {
  /// What failed, in the order in which it was found.
  public var errors: [any Error]

  public var description: String { errors.map { "\($0)" }.joined(separator: "; ") }
}
