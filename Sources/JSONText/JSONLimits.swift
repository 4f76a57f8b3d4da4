/// What a parser refuses although the grammar allows it.
public struct JSONLimits: Sendable, Hashable {
  /// What to do about a key that an object has twice.
  public enum DuplicateKeys: Sendable, Hashable {
    /// Throw an error that names both places.
    case error
    /// Take the last value, at the first one's position.
    case useLast
  }

  /// How many arrays and objects may be open at once.
  public let depth: Int
  /// What becomes of a key that an object has twice.
  public let duplicateKeys: DuplicateKeys

  /// Limits that suit text from strangers.
  ///
  /// - Parameter depth: 1 to 512; parsing, comparing, writing and freeing a value need stack for each level.
  public init(depth: Int = 64, duplicateKeys: DuplicateKeys = .error) {
    precondition((1...512).contains(depth), "a depth is 1 to 512")
    self.depth = depth
    self.duplicateKeys = duplicateKeys
  }
}
