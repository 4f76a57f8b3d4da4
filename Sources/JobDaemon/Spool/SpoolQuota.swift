import Configuration
import JobSchedule
import Synchronization
import SystemSupport

/// The users' shares of `cur/`: the files of each user whose jobs are unfinished, and how many jobs and bytes they may have.
///
/// So nobody can fill the spool's disk, or use up the jobs that the daemon takes at all, by way of the daemon: what is in
/// `new/` and `payload/` is the file system's to limit. Root and the daemon's own user may have any number.
final class SpoolQuota: Sendable {
  /// The reason why a file is refused.
  struct Refusal: Error, CustomStringConvertible {
    let reason: String
    var description: String { reason }
  }

  /// The jobs and bytes of a file, or of all files of a user.
  struct Size: Sendable, Equatable {
    var jobs = 0
    var bytes = 0

    static func + (left: Size, right: Size) -> Size {
      Size(jobs: left.jobs + right.jobs, bytes: left.bytes + right.bytes)
    }

    static func - (left: Size, right: Size) -> Size {
      Size(jobs: left.jobs - right.jobs, bytes: left.bytes - right.bytes)
    }
  }

  private struct State {
    var limits: Size
    var files: [FileName: (user: UInt32, size: Size)] = [:]
    var users: [UInt32: Size] = [:]

    mutating func set(_ size: Size?, of name: FileName, _ user: UInt32) {
      if let old = files.removeValue(forKey: name) {
        let left = users[old.user, default: Size()] - old.size
        users[old.user] = left == Size() ? nil : left
      }
      guard let size else { return }
      files[name] = (user, size)
      users[user, default: Size()] = users[user, default: Size()] + size
    }
  }

  private let state: Mutex<State>

  init(_ settings: Configuration.Spool = Configuration().spool) { state = Mutex(State(limits: Self.limits(settings))) }

  private static func limits(_ settings: Configuration.Spool) -> Size {
    Size(jobs: settings.maxJobsPerUser, bytes: settings.maxBytesPerUser)
  }

  /// Sets other limits; 0 is none. What is there stays.
  func reconfigure(_ settings: Configuration.Spool) { state.withLock { $0.limits = Self.limits(settings) } }

  /// Counts a file in `cur/` whatever the limits are, such as one that an earlier run has accepted.
  func count(_ name: FileName, of user: UInt32, _ size: Size) { state.withLock { $0.set(size, of: name, user) } }

  /// Counts a new file, or refuses it if its user would have too much then.
  func add(_ name: FileName, of user: UInt32, _ size: Size) throws(Refusal) {
    let reason: String? = state.withLock { state in
      let others =
        state.users[user, default: Size()] - (state.files[name].map { $0.user == user ? $0.size : Size() } ?? Size())
      let reason = Self.isExempt(user) ? nil : Self.excess(of: others + size, over: state.limits)
      if reason == nil { state.set(size, of: name, user) }
      return reason
    }
    if let reason { throw Refusal(reason: reason) }
  }

  /// Counts a job file, and refuses a new one if its user would have too much then.
  ///
  /// - Parameter isTakenUp: true if it lay in `cur/` already.
  func add(_ file: ClaimedFile, jobs: Int, isTakenUp: Bool = false) throws(Refusal) {
    let size = Size(jobs: jobs, bytes: file.data.count)
    if isTakenUp { count(file.name, of: file.submitter, size) } else { try add(file.name, of: file.submitter, size) }
  }

  /// Notes that a file is not in `cur/` any more.
  func remove(_ name: FileName) { state.withLock { $0.set(nil, of: name, 0) } }

  /// The jobs and bytes of all files of a user.
  func size(of user: UInt32) -> Size { state.withLock { $0.users[user, default: Size()] } }

  private static func isExempt(_ user: UInt32) -> Bool { user == 0 || user == Credentials.effectiveUser }

  private static func excess(of size: Size, over limits: Size) -> String? {
    if limits.jobs > 0, size.jobs > limits.jobs {
      return
        "its user would have \(size.jobs) jobs in files that are not finished, and may have \(limits.jobs); wait for "
        + "some to end, or see [Spool] MaxJobsPerUser"
    }
    if limits.bytes > 0, size.bytes > limits.bytes {
      return
        "the unfinished job files of its user would have \(size.bytes) bytes, and may have \(limits.bytes); wait for "
        + "some to end, or see [Spool] MaxBytesPerUser"
    }
    return nil
  }
}

extension Spool {
  /// Counts the files that an earlier run has left in `cur/`, with their unfinished jobs as far as the store has them; the
  /// others' are counted when they are read.
  func countFiles(_ known: [FileName: LiveFile]) throws(SystemError) {
    for name in try current.entries() where !name.isHidden {
      do throws(SystemError) {
        let status = try current.status(of: name)
        quota.count(
          name, of: Submitter.user(ofFailed: name, status),
          .init(jobs: known[name]?.unfinishedCount ?? 0, bytes: Int(status.size)))
      } catch {
        // Removed meanwhile, by root.
        if error.code != .noEntry { throw error }
      }
    }
  }
}
