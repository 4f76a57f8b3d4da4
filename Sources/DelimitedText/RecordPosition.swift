/// A place between two records of an input, where a later reader can go on.
package struct RecordPosition: Sendable, Hashable {
  package static let start = RecordPosition(byteOffset: 0, line: 1)

  /// Bytes of the input before this place.
  package var byteOffset: Int
  /// The 1-based number of the line that begins here; line ends inside quotes count.
  package var line: Int
  /// Where that line begins, as far as it is known; only messages depend on it.
  package var lineOffset: Int

  /// - Parameter lineOffset: the same place if nothing is said.
  package init(byteOffset: Int, line: Int, lineOffset: Int? = nil) {
    self.byteOffset = byteOffset
    self.line = line
    self.lineOffset = lineOffset ?? byteOffset
  }
}
