/// A place in the sections of a results controller.
public struct ResultsIndexPath: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The section's place, from 0.
  public var section: Int
  /// The place in the section, from 0.
  public var item: Int

  /// The place of an object.
  public init(section: Int, item: Int) {
    self.section = section
    self.item = item
  }

  /// By section, then by place in it.
  public static func < (left: Self, right: Self) -> Bool {
    (left.section, left.item) < (right.section, right.item)
  }

  /// Both numbers in brackets.
  public var description: String { "[\(section), \(item)]" }
}
