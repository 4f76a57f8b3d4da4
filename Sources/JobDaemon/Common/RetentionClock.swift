import Foundation
import Glibc
import JobSchedule
import Synchronization
import SystemSupport

/// The clock for removing things by age, which remembers across restarts what it has believed.
///
/// That of a host remembers it as the modification time of the file `state/clock`.
final class RetentionClock: Sendable {
  /// A clock's memory of the latest moment that it believes.
  struct Memory: Sendable {
    /// The clock, in words.
    let clock: String
    /// The place where it is remembered, in words.
    let place: String
    /// The way to have it believe the clock at once, in words.
    let cure: String
    let write: @Sendable (Int64) throws -> Void
  }

  private let memory: Memory
  private let log: DaemonLog
  private let clock: Mutex<TrustedClock>
  private let moment: @Sendable () -> Moment
  /// True once it was logged that the clock is ahead, and that the memory can't be written.
  private let told = Mutex((ahead: false, failure: false))

  /// - Parameters:
  ///   - limit: the latest moment that was believed, in milliseconds since 1970; nil if nobody has looked.
  ///   - now: the clock.
  init(
    limit: Int64?, _ memory: Memory, log: DaemonLog, now: @escaping @Sendable () -> Moment = { .now() }
  ) {
    self.memory = memory
    self.log = log
    moment = now
    clock = Mutex(TrustedClock(limit: limit, at: now()))
  }

  /// The clock of a host.
  ///
  /// - Parameter path: the file whose modification time tells what it believes.
  convenience init(path: String, log: DaemonLog) {
    var status = stat()
    let isThere = stat(path, &status) == 0
    let limit = Int64(status.st_mtim.tv_sec) &* 1000 &+ Int64(status.st_mtim.tv_nsec) / 1_000_000
    let memory = Memory(
      clock: "the clock", place: "the file \(path)", cure: "stop the daemon and remove \(path)"
    ) { limit in
      let file = try FileDescriptor.open(path, .creating, mode: 0o600)
      let moment = timespec(tv_sec: Int(limit / 1000), tv_nsec: Int(limit % 1000) * 1_000_000)
      try systemCall("futimens", path) { futimens(file.number, [moment, moment]) }
    }
    self.init(limit: isThere ? limit : nil, memory, log: log)
  }

  /// Takes in what somebody else has believed.
  func believe(_ limit: Int64) { clock.withLock { $0.believe(limit) } }

  /// The time as far as it is believed.
  func now() -> Date {
    let now = moment()
    let (time, limit) = clock.withLock { ($0.time(at: now), $0.limit) }
    // Removal makes room on a full disk: it must not fail because of this.
    do { try memory.write(limit) } catch {
      let isNews = told.withLock { told in
        defer { told.failure = true }
        return !told.failure
      }
      if isNews { log.warning("\(memory.place) can't be written; a wrong clock would go unnoticed: \(error)") }
    }
    tellIfAhead(by: now.wall - time)
    return Date(timeIntervalSince1970: Double(time) / 1000)
  }

  /// The wall time at which to look again for something that is due at a moment.
  func deadline(until moment: Date) -> DispatchWallTime {
    let now = self.moment()
    let due = now.wall + clock.withLock { $0.delay(until: moment.milliseconds, at: now) }
    return DispatchWallTime(
      timespec: timespec(tv_sec: Int(due / 1000), tv_nsec: Int(due % 1000) * 1_000_000))
  }

  /// The time until something is due at a moment, for a timer that follows no wall clock.
  func delay(until moment: Date) -> Duration {
    let now = self.moment()
    return .milliseconds(clock.withLock { $0.delay(until: moment.milliseconds, at: now) })
  }

  private func tellIfAhead(by milliseconds: Int64) {
    let isNews = told.withLock { told in
      defer { told.ahead = milliseconds > 0 }
      return milliseconds > 0 && !told.ahead
    }
    guard isNews else { return }
    log.notice(
      "\(memory.clock) is \(milliseconds / 86_400_000 + 1) days ahead of what it was when a daemon last looked; what is too "
        + "old by it is removed bit by bit, a day for each hour. If it is right, and that is too slow, \(memory.cure)")
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

  /// Takes in what somebody else has believed.
  mutating func believe(_ other: Int64) { limit = max(limit, other) }

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
