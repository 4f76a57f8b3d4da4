/// The treatment of jobs whose type no handler knows.
package enum UnknownTypes: String, Sendable, CaseIterable {
  /// Their file is refused.
  case refuse
  /// They are accepted and held, since a later version may know the type.
  case hold
}
