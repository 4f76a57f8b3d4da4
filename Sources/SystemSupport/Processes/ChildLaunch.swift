/// A program to start and what it gets: nothing is inherited that isn't named here.
package struct ChildLaunch: Sendable {
  /// The program's path; `PATH` isn't searched.
  package var executable: String
  /// The arguments after the program's name.
  package var arguments: [String]
  /// The whole environment.
  package var environment: [String: String]
  /// The child's descriptor numbers and the parent's descriptors they become.
  ///
  /// Missing ones among 0, 1 and 2 are `/dev/null`; all others are closed in the child. The parent's descriptors must
  /// stay open during the launch and stay the parent's.
  package var descriptors: [Int32: Int32]
  /// Nil keeps the parent's.
  package var workingDirectory: String?
  /// True if what the child leaves behind in its process group is killed when the child itself ends.
  package var killsGroupAtExit: Bool
  /// True if the child is killed when this process ends, however that happens; it then can't gain privileges either.
  package var diesWithParent = false
  /// The limits of the child and its descendants; one above this process's own is lowered, unless it may be raised.
  package var limits: [ResourceLimit: UInt64] = [:]
  /// The permission bits that files made by the child don't get; nil keeps the parent's.
  package var fileModeMask: UInt32?
  /// From -20 to 19, less favoured with higher numbers; nil keeps the parent's.
  package var niceness: Int32?
  /// The user that the child runs as, which takes a privileged parent; nil keeps the parent's.
  package var user: UserAccount?

  package init(
    executable: String, arguments: [String] = [], environment: [String: String] = [:],
    descriptors: [Int32: Int32] = [:], workingDirectory: String? = nil, killsGroupAtExit: Bool = true
  ) {
    self.executable = executable
    self.arguments = arguments
    self.environment = environment
    self.descriptors = descriptors
    self.workingDirectory = workingDirectory
    self.killsGroupAtExit = killsGroupAtExit
  }
}
