public import ObjectModel

/// The reason why an object can't be saved: which object, property and rule.
public struct ValidationError: Error, Sendable, CustomStringConvertible {
  /// The rule that is broken; open, so that more can be added.
  public struct Rule: RawRepresentable, Sendable, Hashable {
    /// The rule as text, which stays the same from release to release.
    public let rawValue: String
    /// A rule by its text: one of those below, or one of your own for your classes' checks.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// A value or destination is required, and there is none.
    public static let missingValue = Rule(rawValue: "missing value")
    /// A number or date is below the minimum.
    public static let tooSmall = Rule(rawValue: "too small")
    /// A number or date is above the maximum.
    public static let tooLarge = Rule(rawValue: "too large")
    /// A text has fewer characters than the minimum.
    public static let tooShort = Rule(rawValue: "too short")
    /// A text has more characters than the maximum.
    public static let tooLong = Rule(rawValue: "too long")
    /// A text does not match the attribute's regular expression as a whole.
    public static let patternMismatch = Rule(rawValue: "pattern mismatch")
    /// A to-many relationship that is not empty has fewer destinations than the minimum.
    public static let tooFewDestinations = Rule(rawValue: "too few destinations")
    /// A to-many relationship has more destinations than the maximum.
    public static let tooManyDestinations = Rule(rawValue: "too many destinations")
    /// A relationship with the delete rule deny still has destinations.
    public static let deniedDelete = Rule(rawValue: "delete denied")
    /// A number or date is NaN, which no store keeps.
    public static let notANumber = Rule(rawValue: "not a number")
    /// A text has the character U+0000, which the store can't keep: PostgreSQL's can't.
    public static let nulCharacter = Rule(rawValue: "nul character")
    /// The value is not of the property's type.
    public static let wrongType = Rule(rawValue: "wrong type")
  }

  /// The object that can't be saved.
  public var objectID: ManagedObjectID
  /// The name of the object's entity.
  public var entityName: String
  /// The name of the property; nil if the rule concerns the whole object.
  public var property: String?
  /// The value that the property has; of a to-many relationship the number of its destinations.
  public var value: Value
  /// The rule that is broken.
  public var rule: Rule
  /// The expectation that was not met, in words.
  public var message: String

  /// For an object that is known by its row only.
  init(
    _ id: ManagedObjectID, _ entity: Entity, property: String?, value: Value = .null, rule: Rule, message: String
  ) {
    objectID = id
    entityName = entity.name
    self.property = property
    self.value = value
    self.rule = rule
    self.message = message
  }

  static func missing(_ property: Property, of id: ManagedObjectID, _ entity: Entity) -> ValidationError {
    ValidationError(id, entity, property: property.name, rule: .missingValue, message: "is required, but is nil")
  }

  static func deniedDelete(
    of id: ManagedObjectID, _ entity: Entity, by property: Property, count: Int
  ) -> ValidationError {
    ValidationError(
      id, entity, property: property.name, value: .integer(Int64(count)), rule: .deniedDelete,
      message: "refuses the delete of its object while it has \(count) destinations")
  }

  /// The entity, the property and what is expected of it; no values but numbers.
  public var description: String { "\(entityName)\(property.map { ".\($0)" } ?? "") \(message)" }
}

/// Several objects or properties that can't be saved.
public struct ValidationErrors: Error, Sendable, CustomStringConvertible {
  /// The failures, in the order in which they were found.
  public var errors: [any Error]

  /// All failures, one after the other.
  public var description: String { errors.map { "\($0)" }.joined(separator: "; ") }
}
