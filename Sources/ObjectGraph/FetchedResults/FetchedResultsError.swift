/// The error of a request that a results controller can't use.
public struct FetchedResultsError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of the error; open, so that more can be added.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The code as text, which stays the same from release to release.
    public let rawValue: String
    /// A code by its text: one of those below, one of a later release, or one of your own.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The request has no sort descriptor, so its objects have no order.
    public static let unsorted = Code(rawValue: "unsorted")
    /// The first sort descriptor does not sort by the section key path.
    public static let sectionsUnsorted = Code(rawValue: "sections-unsorted")
  }

  /// The kind of the error.
  public var code: Code
  /// The error and its remedy, in words.
  public var message: String

  /// The message.
  public var description: String { message }
}
