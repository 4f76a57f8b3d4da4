import Configuration
import Dispatch
import Foundation
import JobSchedule
import Jobs
import Synchronization
import SystemSupport
import Timetable

/// The pauses of schedules that all hosts of a fleet share.
struct SharedPauses: Sendable {
  /// The paused schedules; nil while they are not known yet.
  let names: @Sendable () -> Set<String>?
  let set: @Sendable (_ isPaused: Bool, _ name: String) throws -> Void
}

/// The daemon's schedules: one timer for the moment that is due next, and what is submitted then.
///
/// ``Timetable`` decides what fires; this tells it the time, submits the jobs and keeps the places of the schedules in
/// a file, which is written before the jobs of a firing are submitted and again afterwards: after a crash in between the
/// firing is repeated, and recognized by its ID.
final class Schedules: Sendable {
  /// There is no schedule of that name.
  struct Missing: Error {}

  private struct State {
    var timetable: Timetable
    var files: [String: ScheduledFile] = [:]
    /// The places that the file has.
    var written: [String: Timetable.Record] = [:]
    /// True once it was logged that jobs can't be submitted, and that the file can't be written.
    var told = (submission: false, file: false)
    var watcher: ClockWatcher?
    var isClosed = false
  }

  private static let retryDelay = Duration.seconds(5)

  private let desk: FiringDesk
  private let folder: String
  private let pauses: SharedPauses?
  private let events: DaemonEvents
  private let log: DaemonLog
  /// The place where everything happens; the lock is for those who look.
  private let queue = DispatchQueue(label: "schedules")
  private let timer: OneShotTimer
  private let state: Mutex<State>
  private let now: @Sendable () -> Int64

  /// - Parameters:
  ///   - folder: the folder of the file with the places.
  ///   - spoolName: differs between hosts, whose delays are to differ.
  ///   - pauses: those of a fleet; nil if pauses are this host's own.
  ///   - now: the wall clock.
  init(
    _ desk: FiringDesk, folder: String, spoolName: String, pauses: SharedPauses?, events: DaemonEvents, log: DaemonLog,
    now: @escaping @Sendable () -> Int64 = { Moment.now().wall }
  ) {
    self.desk = desk
    self.folder = folder
    self.pauses = pauses
    self.events = events
    self.log = log
    self.now = now
    timer = OneShotTimer(queue: queue)
    var hash = StableHash()
    hash.combine(spoolName.utf8)
    state = Mutex(State(timetable: Timetable(seed: hash.value)))
  }

  // MARK: Start, reload and stop

  /// Begins with the places of an earlier run; what was being submitted at its end, and what persistent schedules have
  /// missed since then, fires.
  ///
  /// - Parameter isContinued: true if that run has ended for this one, with other models: nothing is missed then.
  func begin(_ files: [ScheduledFile], isContinued: Bool) throws {
    let records = try readRecords()
    let watcher = try ClockWatcher(queue: queue) { [weak self] in self?.advance() }
    state.withLock { state in
      state.watcher = watcher
      state.written = records
    }
    queue.sync { replace(files, records, isContinued: isContinued) }
  }

  /// Puts the schedules of a new configuration into force.
  func replace(_ files: [ScheduledFile]) { queue.async { self.replace(files, [:], isContinued: false) } }

  private func replace(_ files: [ScheduledFile], _ records: [String: Timetable.Record], isContinued: Bool) {
    state.withLock { state in
      state.files = Dictionary(files.map { ($0.rule.name, $0) }) { _, last in last }
      state.timetable.replace(files.map(\.rule), records: records, at: now(), isContinued: isContinued)
    }
    advance()
  }

  /// Fires nothing more; what is being submitted goes on, and is tried again at the next start if it fails.
  func stop() {
    state.withLock { state in
      state.isClosed = true
      state.watcher?.stop()
    }
    timer.cancel()
  }

  /// Stops, and returns when nothing is being submitted.
  func close() {
    stop()
    queue.sync {}
  }

  // MARK: Firing

  /// Fires what is due, and arms the timer for what is due next.
  private func advance() {
    if state.withLock(\.isClosed) || !takePauses() { return }
    do {
      try submitPending()
      let time = now()
      let busy = try unfinishedFirings(dueAt: time)
      state.withLock { $0.timetable.advance(to: time) { busy.contains($0) } }
      try tellMissed()
      save()
      try submitPending()
      save()
      state.withLock { $0.told.submission = false }
    } catch {
      let isNews = state.withLock { state in
        defer { state.told.submission = true }
        return !state.told.submission && !state.isClosed
      }
      if isNews { log.error("the jobs of schedules can't be submitted yet: \(error)") }
      return timer.arm(after: Self.retryDelay) { [weak self] in self?.advance() }
    }
    guard let next = state.withLock(\.timetable.nextAlarm) else { return timer.disarm() }
    let moment = timespec(tv_sec: Int(next / 1000), tv_nsec: Int(next % 1000) * 1_000_000)
    timer.arm(at: DispatchWallTime(timespec: moment)) { [weak self] in self?.advance() }
  }

  /// Has the schedules rest that are paused for the fleet; false while nobody knows which, so that nothing may fire.
  private func takePauses() -> Bool {
    guard let pauses else { return true }
    guard let names = pauses.names() else { return false }
    let time = now()
    let changed = state.withLock { state in
      let others = state.timetable.overview.filter { $0.isPaused != names.contains($0.name) }
      for schedule in others { _ = state.timetable.setPaused(!schedule.isPaused, schedule.name, at: time) }
      return !others.isEmpty
    }
    if changed { events.send(.pausesChanged) }
    return true
  }

  private func submitPending() throws {
    for order in state.withLock(\.timetable.pending) {
      let refusal = try submit(order, state.withLock { $0.files[order.firing.schedule] })
      state.withLock { $0.timetable.noteFired(order.firing, refusal: refusal) }
    }
  }

  /// - Returns: the reason why the jobs are refused; nil if they are submitted.
  /// - Throws: what may be over soon.
  private func submit(_ order: Timetable.Order, _ file: ScheduledFile?) throws -> String? {
    guard let file else { return nil }
    do {
      try desk.submit(order, file)
      log.debug("the schedule \(order.firing.schedule) has fired: \(order.firing.id)")
      return nil
    } catch let error as JobFileError {
      return refuse(order.firing, error.description)
    } catch let error as AdmissionRefusal {
      return refuse(order.firing, error.reason)
    }
  }

  private func refuse(_ firing: Firing, _ reason: String) -> String {
    log.error(
      "the jobs of \(firing.id) are refused: \(reason)", as: .scheduleRefused,
      fields: [("BOBBIN_SCHEDULE", firing.schedule)])
    events.send(.firingRefused(firing, reason))
    return reason
  }

  /// Reports the moments that have passed, unless another host of a fleet has fired then.
  private func tellMissed() throws {
    while let missed = state.withLock(\.timetable.missed.first) {
      if try !desk.isKnown(missed.last) { events.send(.scheduleMissed(missed)) }
      state.withLock { $0.timetable.dropFirstMissed() }
    }
  }

  /// The last firings of schedules that are due and fire only when these are finished.
  private func unfinishedFirings(dueAt time: Int64) throws -> Set<Firing> {
    if pauses != nil { try noteOtherHosts(dueAt: time) }
    let (overview, files) = state.withLock { ($0.timetable.overview, $0.files) }
    var unfinished: Set<Firing> = []
    for schedule in overview where files[schedule.name]?.rule.overlap == .skip {
      guard let next = schedule.next, next <= time, let last = schedule.last else { continue }
      if try desk.hasUnfinishedJobs(of: schedule.name) { unfinished.insert(last) }
    }
    return unfinished
  }

  /// Notes the firings of other hosts, for schedules that are due and for which these count.
  private func noteOtherHosts(dueAt time: Int64) throws {
    let (overview, files) = state.withLock { ($0.timetable.overview, $0.files) }
    for schedule in overview where files[schedule.name]?.rule.overlap != .allow {
      guard let next = schedule.next, next <= time, let last = try desk.lastFiring(of: schedule.name) else { continue }
      state.withLock { $0.timetable.note(firingElsewhere: last) }
    }
  }

  // MARK: What people ask

  /// All schedules, by name.
  var overview: [Timetable.Overview] { state.withLock(\.timetable.overview) }

  /// The schedule of a name, and its job file.
  func file(of name: String) -> ScheduledFile? { state.withLock { $0.files[name] } }

  /// Fires a schedule now, paused or not.
  ///
  /// - Parameter answer: called with the firing.
  func run(_ name: String, answer: @escaping @Sendable (Result<Firing, any Error>) -> Void) {
    queue.async { [self] in
      answer(
        Result {
          let (order, file) = state.withLock { ($0.timetable.order(name, at: now()), $0.files[name]) }
          guard let order, let file else { throw Missing() }
          try desk.submit(order, file)
          state.withLock { $0.timetable.noteFired(order.firing) }
          save()
          return order.firing
        })
    }
  }

  /// Looks what is paused for the fleet.
  func notePauses() { if pauses != nil { queue.async { self.advance() } } }

  /// Keeps a schedule from firing, or ends that, also for later runs of the daemon, and for all hosts of a fleet.
  func setPaused(_ isPaused: Bool, _ name: String, answer: @escaping @Sendable (Result<Void, any Error>) -> Void) {
    queue.async { [self] in
      answer(
        Result {
          guard overview.contains(where: { $0.name == name }) else { throw Missing() }
          try pauses?.set(isPaused, name)
          let time = now()
          _ = state.withLock { $0.timetable.setPaused(isPaused, name, at: time) }
          try write()
        })
      events.send(.pausesChanged)
      advance()
    }
  }

  // MARK: The file

  private func readRecords() throws -> [String: Timetable.Record] {
    let data: Data
    do throws(SystemError) {
      data = try FileDescriptor.open(folder + "/" + Paths.scheduleState).readAll(limit: 16 << 20)
    } catch {
      if error.code == .noEntry { return [:] }
      throw error
    }
    do { return try JSONDecoder().decode([String: Timetable.Record].self, from: data) } catch {
      log.error("\(folder)/\(Paths.scheduleState) can't be read; what schedules have missed is not known: \(error)")
      return [:]
    }
  }

  private func write() throws {
    let places = state.withLock(\.timetable.records)
    try Directory(path: folder).writeDurably(FileName(Paths.scheduleState), JSONEncoder().encode(places))
    state.withLock { $0.written = places }
  }

  /// Writes the places if they have changed.
  private func save() {
    if state.withLock({ $0.timetable.records == $0.written }) { return }
    do {
      try write()
      state.withLock { $0.told.file = false }
    } catch {
      let isNews = state.withLock { state in
        defer { state.told.file = true }
        return !state.told.file
      }
      if isNews { log.error("the places of schedules can't be kept for the next start: \(error)") }
    }
  }
}
