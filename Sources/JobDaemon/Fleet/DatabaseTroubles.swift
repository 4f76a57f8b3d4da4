import JobSchedule
import StoreInterface
import Synchronization

/// The reasons why requests to the fleet's database had no answer, for those who are told that it is away, and for the log.
final class DatabaseTroubles: Sendable {
  private struct State {
    var last: (error: StoreError, time: Int64)?
    /// The refusal that the log was told of last, and when, in milliseconds of the steady clock.
    var told: (message: String, time: Int64)?
    /// The text about a host that has not joined that was told last.
    var toldOfJoin: String?
  }

  /// The milliseconds after which a refusal that goes on is told once more.
  private static let pause: Int64 = 600_000

  private let log: DaemonLog
  private let state = Mutex(State())

  init(log: DaemonLog) { self.log = log }

  /// The last reason in words; nil if the database has come back since.
  var reason: String? { state.withLock { $0.last?.error.message } }

  /// Notes that a request had no answer, or was refused; whoever has asked asks again.
  func note(_ error: StoreError) {
    if [.unreadableOrder, .setBack].contains(error.code) { return log.error("\(error.message)") }
    log.debug("a request to the fleet's database has no answer: \(error)")
    let isNews = state.withLock { state in
      let now = Moment.now().steady
      state.last = (error, now)
      // One that is away is told of when a beat has no answer.
      guard Self.isRefusal(error) else { return false }
      if let told = state.told, told.message == error.message, now < told.time + Self.pause { return false }
      state.told = (error.message, now)
      return true
    }
    if isNews { log.warning("the fleet's database refuses a request, which is made again: \(error.message)") }
  }

  /// True for what somebody has to mend, while the database answers.
  private static func isRefusal(_ error: StoreError) -> Bool { error.code == .readOnly || error.code == .full }

  /// Tells that the database has not let this host join yet.
  ///
  /// - Parameter patience: the time for which the service manager is to wait.
  func tellOfJoin(patience: Duration) {
    let oldest = Moment.now().steady - Int64(patience / .milliseconds(1))
    // An attempt that takes longer has no error, and those before it had others.
    let recent = state.withLock { state in state.last.flatMap { $0.time > oldest ? $0.error.message : nil } }
    let reason =
      recent.map { "the last attempt: \($0)" }
      ?? "it has not answered, as while a standby is away that commits wait for"
    let text = "the fleet's database does not let this host join yet: \(reason)"
    log.tellManager(.status(text), .extendTimeout(patience))
    let isNews = state.withLock { state in
      defer { state.toldOfJoin = text }
      return state.toldOfJoin != text
    }
    if isNews { log.error(text) }
  }

  /// Forgets the reason, since the database is back.
  func clear() { state.withLock { $0.last = nil } }
}
