/// A client that changes jobs; it determines whose jobs these may be.
///
/// A job acts with its submitter's rights, so that to say what it does is to act as that user. Whoever controls the daemon may
/// start, stop and remove the jobs of all users, but not have them do something else.
enum JobChanger: Sendable, Equatable {
  /// Root or the daemon's user.
  case owner
  /// One who controls the daemon: a member of the group for that, or a token with that role.
  case controller(as: UInt32?)
  /// One who may submit jobs; nil is nobody.
  case submitter(UInt32?)

  /// True if the jobs of a submitter may be started, stopped and removed.
  ///
  /// - Parameter submitter: nil for a job from before submitters were recorded.
  func mayCommand(jobsOf submitter: Int64?) -> Bool {
    switch self {
    case .owner, .controller: true
    case .submitter(let user): Self.isSame(user, submitter)
    }
  }

  /// True if what the jobs of a submitter do may be changed.
  func mayEdit(jobsOf submitter: Int64?) -> Bool {
    switch self {
    case .owner: true
    case .controller(let user), .submitter(let user): Self.isSame(user, submitter)
    }
  }

  private static func isSame(_ user: UInt32?, _ submitter: Int64?) -> Bool {
    user.map { Int64($0) == submitter } ?? false
  }

  /// The part of a selection that commands may concern; nil if there is none.
  func part(of selection: JobSelection) -> JobSelection? {
    guard case .submitter(let user) = self else { return selection }
    guard let user, selection.record.submitter == nil || selection.record.submitter == user else { return nil }
    var own = selection
    own.record.submitter = user
    return own
  }
}
