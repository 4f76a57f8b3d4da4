/// What happens to a record with another number of fields than the header, or the first record.
package enum RaggedRows: String, Sendable, Hashable, CaseIterable {
  /// It is a bad record.
  case error
  /// What a short one lacks has no value; a long one is bad.
  case pad
  /// What a long one has too many is dropped; a short one is bad.
  case truncate
  /// Both: short ones are padded, long ones cut.
  case fit

  /// Whether a record with so many fields is made to fit.
  func allows(_ found: Int, insteadOf expected: Int) -> Bool {
    self == .fit || self == (found < expected ? .pad : .truncate)
  }

  /// Whether fields that are too many are dropped.
  package var cuts: Bool { self == .truncate || self == .fit }
}
