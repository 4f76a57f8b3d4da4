/// The error about a wrong use of a persistent container.
public struct ContainerError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of the error; open, so that more can be added.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The code as text, which stays the same from release to release.
    public let rawValue: String
    /// A code by its text: one of those below, one of a later release, or one of your own.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The default container is used before it was set up.
    public static let notSetUp = Code(rawValue: "not-set-up")
    /// `contextForHere()` is called in a task that has no context.
    public static let noTaskContext = Code(rawValue: "no-task-context")
    /// A context of another stack was passed to the container.
    public static let foreignContext = Code(rawValue: "foreign-context")
    /// The default container exists already, and with another model or store.
    public static let otherSetUp = Code(rawValue: "other-set-up")
  }

  /// The kind of the error.
  public var code: Code
  /// The error and its remedy, in words.
  public var message: String

  /// Makes an error about the use of a container.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The message.
  public var description: String { message }
}
