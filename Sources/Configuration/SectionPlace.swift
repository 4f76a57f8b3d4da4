/// The place where a section begins.
package struct SectionPlace: Sendable, Equatable {
  package let file: String
  /// Counted from 1.
  package let line: Int
}
