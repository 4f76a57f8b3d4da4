/// The section and item index of an object in a results controller.
public struct ResultsIndexPath: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The index of the section, from 0.
  public var section: Int
  /// The index in the section, from 0.
  public var item: Int

  /// Makes an index path.
  public init(section: Int, item: Int) {
    self.section = section
    self.item = item
  }

  /// Orders index paths by section, then by item.
  public static func < (left: Self, right: Self) -> Bool {
    (left.section, left.item) < (right.section, right.item)
  }

  /// Both numbers in brackets.
  public var description: String { "[\(section), \(item)]" }
}
