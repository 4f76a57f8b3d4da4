/// The reason why a model can't be read or used, with its file, line, entity and property.
public struct ModelError: Error, Sendable, CustomStringConvertible {
  /// The kind of a model error; open, so that more can be added.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The code as text, which stays the same from release to release.
    public let rawValue: String
    /// A code by its text: one of those below, one of a later release, or one of your own.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The file or bundle can't be read.
    public static let unreadable = Code(rawValue: "unreadable")
    /// The file is not well-formed XML, or not a model.
    public static let malformed = Code(rawValue: "malformed")
    /// A name is missing, reserved or used twice.
    public static let invalidName = Code(rawValue: "invalid-name")
    /// An attribute has a type that does not exist.
    public static let unknownType = Code(rawValue: "unknown-type")
    /// A default, minimum or maximum can't be read as the attribute's type.
    public static let invalidValue = Code(rawValue: "invalid-value")
    /// A destination, inverse, parent entity or indexed property does not exist.
    public static let unresolvedReference = Code(rawValue: "unresolved-reference")
    /// The rules of two descriptions contradict each other.
    public static let contradiction = Code(rawValue: "contradiction")
  }

  /// The kind of mistake.
  public var code: Code
  /// The message.
  public var message: String
  /// The path of the model file, if it came from one.
  public var file: String?
  /// The line in that file, from 1.
  public var line: Int?
  /// The entity that the mistake is in; nil if it is in none.
  public var entity: String?
  /// The property that the mistake is in; nil if it is in none.
  public var property: String?

  /// An error about a model.
  public init(
    _ code: Code, _ message: String, file: String? = nil, line: Int? = nil, entity: String? = nil,
    property: String? = nil
  ) {
    self.code = code
    self.message = message
    self.file = file
    self.line = line
    self.entity = entity
    self.property = property
  }

  /// File, line, entity and property as far as they are known, and the message.
  public var description: String {
    var place = ""
    if let file { place += file + (line.map { ":\($0)" } ?? "") + ": " }
    if let entity { place += entity + (property.map { ".\($0)" } ?? "") + ": " }
    return place + message
  }
}
