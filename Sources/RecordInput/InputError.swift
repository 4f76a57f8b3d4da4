import SystemSupport

/// Why an input can't be read any further.
package struct InputError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What happened and what to do, without the input's name.
  package var description: String
  /// Whether another attempt would fail in the same way.
  package var isLasting: Bool

  package init(_ description: String, isLasting: Bool = true) {
    self.description = description
    self.isLasting = isLasting
  }

  init(_ error: SystemError) { self.init("\(error)", isLasting: error.isLasting) }
}
