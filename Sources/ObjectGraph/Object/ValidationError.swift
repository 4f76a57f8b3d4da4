import ObjectModel

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
  }

  public var objectID: ManagedObjectID
  public var entityName: String
  public var property: String?
  public var rule: Rule
  /// What is expected instead, in words.
  public var message: String

  public init(_ object: ManagedObject, property: String?, rule: Rule, message: String) {
    self.init(object.objectID, object.entity, property: property, rule: rule, message: message)
  }

  /// For an object that is known by its row only.
  init(_ id: ManagedObjectID, _ entity: Entity, property: String?, rule: Rule, message: String) {
    objectID = id
    entityName = entity.name
    self.property = property
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
      id, entity, property: property.name, rule: .deniedDelete,
      message: "refuses the delete of its object while it has \(count) destinations")
  }

  public var description: String { "\(entityName)\(property.map { ".\($0)" } ?? "") \(message)" }
}

/// Several objects or properties that can't be saved.
public struct ValidationErrors: Error, Sendable, CustomStringConvertible {
  /// What failed, in the order in which it was found.
  public var errors: [any Error]

  public var description: String { errors.map { "\($0)" }.joined(separator: "; ") }
}
