package import Foundation
import JobSchedule
import ObjectGraph
import SystemSupport
import Timetable

/// The daemon's account of itself, for its clients and for the service manager.
extension Daemon {
  /// The reason why the daemon is not healthy; nil if it is.
  var problem: String? { databaseAbsence.map { "\($0)" } ?? problemText.withLock { $0 } }

  /// The time for which the fleet's database is away; nil while it answers, and without a fleet.
  var databaseAbsence: DatabaseAbsence? {
    guard let figures = membership?.meter.figures, let since = figures.awaySince else { return nil }
    return DatabaseAbsence(since: since, reason: figures.awayReason)
  }

  /// The resources that an operator has paused, in a fleet on any host: everything first, then by kind and name.
  var pauses: [(kind: String, name: String, resource: Resource.Name)] {
    (membership?.paused ?? scheduler.read { schedule, _ in schedule.paused })
      .compactMap { resource in resource.kindAndName.map { ($0.kind, $0.name, resource) } }
      .sorted { ($0.kind, $0.name) < ($1.kind, $1.name) }
  }

  /// The name of this host, by its spool, if it is drained: it is given no jobs.
  var drainedHost: String? { membership.flatMap { $0.paused.contains(.host($0.spool)) ? $0.spool : nil } }

  /// The names of this host's schedules that an operator has paused.
  var pausedSchedules: [String] { schedules.overview.filter(\.isPaused).map(\.name) }

  /// The outcome of the last reload of the configuration.
  package struct Reload: Sendable {
    /// The mistakes for which it was refused: with them the daemon could not start again.
    package var mistakes: [String] = []
    /// The reasons why the models in the folder were not taken; kept by a reload that is refused.
    package var untakenModels: [String] = []
  }

  /// Notes the outcome of a reload, and tells the service manager.
  package func noteReload(_ change: (inout Reload) -> Void) {
    lastReload.withLock { change(&$0) }
    tellStatus()
  }

  /// The most pauses that the status line names: systemd takes a few thousand bytes.
  private static let toldPauses = 5

  /// The status line that the service manager shows while the daemon is not stopping.
  var statusText: String {
    let intake = problem.map { "taking no jobs: \($0)" } ?? "taking jobs"
    let pauses =
      (drainedHost == nil ? [] : ["this host, which is drained"]) + pauses.map(\.resource.description)
      + pausedSchedules.map { "the schedule \"\($0)\"" }
    let more = pauses.count - Self.toldPauses
    let paused = pauses.prefix(Self.toldPauses) + (more > 0 ? ["and \(more) more"] : [])
    let held = engine.hostFaults.heldTypes.map { "the type \"\($0.type)\" is held: \($0.reason)" }
    let short = engine.shortages.summary.map { shortage in
      ["\(shortage.jobs == 1 ? "a job waits" : "\(shortage.jobs) jobs wait") for this host: \(shortage.reason)"]
    }
    let reload = lastReload.withLock { $0 }
    let troubled = hotFolders.troubled
    let copy = copier.report?.problem.map { ["the copy of the store can't be made: \($0)"] } ?? []
    return
      ([intake] + held + (short ?? []) + copy + (paused.isEmpty ? [] : ["paused: " + paused.joined(separator: ", ")])
      + reload.untakenModels.prefix(1).map { "new models are not taken: \($0)" }
      + reload.mistakes.prefix(1).map { "the new configuration is refused: \($0)" }
      + (troubled.isEmpty ? [] : ["hot folders with problems: " + troubled.joined(separator: ", ")]))
      .joined(separator: "; ")
  }

  /// Sends ``statusText`` to the service manager; one thread after the other, so that the last one sent is the newest.
  package func tellStatus() { telling.withLock { _ in log.tellManager(.status(statusText)) } }

  /// Looks whether the daemon's parts make progress, and returns the names of those that hang; to be repeated at the period
  /// within which they have to.
  package func hangingParts() -> [String] { progressCheck.look() }

  /// The check of the parts without which nothing goes on. Only the writer waits for disks and databases, whose answers take
  /// their time; what it writes meanwhile counts, also to a database elsewhere.
  static func progressCheck(
    of scheduler: Scheduler, main: ManagedObjectContext, occupation: OccupationRecorder, writer: ManagedObjectContext,
    in membership: Membership?
  ) -> ProgressCheck {
    ProgressCheck([
      .init(name: "the scheduler", call: { scheduler.ping($0) }),
      .init(name: "main", call: { answer in main.perform { _ in answer() } }, work: { occupation.count }),
      .init(
        name: "the writer", patience: 6, call: { answer in writer.perform { _ in answer() } },
        work: { writerActivity(in: membership) }),
    ])
  }

  private static func writerActivity(in membership: Membership?) -> UInt64 {
    ProcessActivity.fileBlocks &+ (membership?.writerActivity ?? 0)
  }

  /// A number that grows while disks and databases take what is written.
  package var writerActivity: UInt64 { Self.writerActivity(in: membership) }

  /// Tells operators that the store could not be opened until now, as its disk was full.
  package func tellOfFullStore(_ error: any Error, since: Date) {
    notices.tell([Notice(fullStore: "\(error)", since: since, until: Date())])
  }

  /// Claims no files while the fleet's database is away.
  func noteDatabase(isAway: Bool) {
    if isAway { intake.pause(.databaseAway) } else { intake.resume(.databaseAway) }
    if !isAway { scheduler.beginAssigned() }
    tellStatus()
  }

  /// Tells of moments of a schedule at which nothing fired.
  func tell(of missed: Timetable.Missed) {
    meter.noteMissed(by: missed.last.schedule)
    let notice = Notice(missed)
    log.warning(notice.text, as: .scheduleMissed, fields: [("BOBBIN_SCHEDULE", missed.last.schedule)])
    notices.tell([notice])
  }

  /// Claims no files until the store can be written again.
  func pauseIntake(because error: StoreError) {
    samples.note()
    // In this order, so that nothing is claimed in between.
    let isFull = error.code == .full
    let isAway = error.code == .unavailable
    let isNewPause = intake.pause(isFull ? .storageFull : .storeBusy)
    intake.resume(isFull ? .storeBusy : .storageFull)
    let isNew = problemText.withLock { problem in
      defer { problem = error.description }
      return problem == nil
    }
    // A store may have been busy before it was full.
    if isFull && isNewPause { notices.noteFullStore(error) }
    guard isNew else { return }
    let cure = isFull ? "there is room again" : isAway ? "the database answers again" : "the store is free again"
    tellStatus()
    log.error("no job files are claimed until \(cure): \(error)", as: .storeUnwritable)
  }
}
