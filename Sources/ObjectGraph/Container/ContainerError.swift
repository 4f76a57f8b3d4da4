/// A mistake in the use of a persistent container, by name.
public struct ContainerError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of the error; open, so that more can be added.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The code as text, which stays the same from release to release.
    public let rawValue: String
    /// A code by its text: one of those below, one of a later release, or one of your own.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The default container is asked for before it was set up.
    public static let notSetUp = Code(rawValue: "not-set-up")
    /// A context for here is asked for in a task that has none.
    public static let noTaskContext = Code(rawValue: "no-task-context")
    /// A context of another stack is given to the container.
    public static let foreignContext = Code(rawValue: "foreign-context")
    /// The default container exists already, and with another model or store.
    public static let otherSetUp = Code(rawValue: "other-set-up")
  }

  /// What the mistake is.
  public var code: Code
  /// What is wrong and what to do, in words.
  public var message: String

  /// An error about the use of a container.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The message.
  public var description: String { message }
}
