/// The users who may read jobs and results through the status interface, besides root.
package enum ReadAccess: String, Sendable, CaseIterable {
  /// Every local user.
  case everyone
  /// The daemon's user and the members of its group.
  case group
  /// The daemon's user alone.
  case owner
}
