import Foundation
import Glibc
import JobSchedule
import Synchronization
import SystemSupport

/// The clock for removing things by age, which remembers across restarts what it has believed.
///
/// The modification time of the file `state/clock` is the latest moment that it believes.
final class RetentionClock: Sendable {
  private let path: String
  private let log: DaemonLog
  private let clock: Mutex<TrustedClock>
  /// True once it was logged that the clock is ahead, and that the file can't be written.
  private let told = Mutex((ahead: false, failure: false))

  init(path: String, log: DaemonLog) {
    self.path = path
    self.log = log
    var status = stat()
    let isThere = stat(path, &status) == 0
    let limit = Int64(status.st_mtim.tv_sec) &* 1000 &+ Int64(status.st_mtim.tv_nsec) / 1_000_000
    clock = Mutex(TrustedClock(limit: isThere ? limit : nil, at: .now()))
  }

  /// The time as far as it is believed.
  func now() -> Date {
    let now = Moment.now()
    let (time, limit) = clock.withLock { ($0.time(at: now), $0.limit) }
    // Removal makes room on a full disk: it must not fail because of this.
    do throws(SystemError) { try remember(limit) } catch {
      let isNews = told.withLock { told in
        defer { told.failure = true }
        return !told.failure
      }
      if isNews { log.warning("the file \(path) can't be written; a wrong clock would go unnoticed: \(error)") }
    }
    tellIfAhead(by: now.wall - time)
    return Date(timeIntervalSince1970: Double(time) / 1000)
  }

  /// The wall time at which to look again for something that is due at a moment.
  func deadline(until moment: Date) -> DispatchWallTime {
    let now = Moment.now()
    let delay = clock.withLock { $0.delay(until: moment.milliseconds, at: now) }
    let due = now.wall + delay
    return DispatchWallTime(
      timespec: timespec(tv_sec: Int(due / 1000), tv_nsec: Int(due % 1000) * 1_000_000))
  }

  private func remember(_ limit: Int64) throws(SystemError) {
    let file = try FileDescriptor.open(path, .creating, mode: 0o600)
    let moment = timespec(tv_sec: Int(limit / 1000), tv_nsec: Int(limit % 1000) * 1_000_000)
    try systemCall("futimens", path) { futimens(file.number, [moment, moment]) }
  }

  private func tellIfAhead(by milliseconds: Int64) {
    let isNews = told.withLock { told in
      defer { told.ahead = milliseconds > 0 }
      return milliseconds > 0 && !told.ahead
    }
    guard isNews else { return }
    log.notice(
      "the clock is \(milliseconds / 86_400_000 + 1) days ahead of what it was when the daemon last looked; what is too "
        + "old by it is removed bit by bit, a day for each hour. If it is right, and that is too slow, stop the daemon "
        + "and remove \(path)")
  }
}

/// The wall clock as far as it is believed when something is removed for its age.
///
/// A clock that is years ahead by mistake would make everything too old at once. So a moment is believed if it is up to
/// a day later than what was believed before, and beyond that a day more for each hour that the daemon runs. A value
/// without a clock of its own.
struct TrustedClock: Sendable {
  private static let leeway: Int64 = 86_400_000
  /// The factor by which it catches up faster than time passes.
  private static let pace: Int64 = 24

  /// The latest moment that is believed, in milliseconds since 1970.
  private(set) var limit: Int64
  private var steady: Int64

  /// - Parameter limit: the limit of an earlier run; nil if there was none, and the clock is believed.
  init(limit: Int64?, at now: Moment) {
    self.limit = limit ?? now.wall + Self.leeway
    steady = now.steady
  }

  /// The time as far as it is believed.
  mutating func time(at now: Moment) -> Int64 {
    let caughtUp = limit + max(0, now.steady - steady) * Self.pace
    steady = now.steady
    // A clock that is set back for a while does not lower the limit.
    limit = max(limit, min(caughtUp, now.wall + Self.leeway))
    return min(now.wall, limit)
  }

  /// The milliseconds, from the last look on, until a moment is believed to have come.
  func delay(until moment: Int64, at now: Moment) -> Int64 {
    max(0, moment - now.wall, (moment - limit) / Self.pace)
  }
}
