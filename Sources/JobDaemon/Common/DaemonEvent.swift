import Fleet
import JobSchedule
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport
import Timetable

/// A report of one part of the daemon that others act on; ``Daemon`` handles them all in one place.
enum DaemonEvent: Sendable {
  /// The intake: these files are admitted; their jobs are to be scheduled.
  case admitted([AdmittedFile])
  /// The intake: all jobs of this file, whose parts were admitted one after the other, are on disk.
  case allAdmitted(LiveFile)
  /// The scheduler: the running attempt at this job may have reached its timeout.
  case overdue(ManagedObjectID)
  /// The flusher: these jobs are durable.
  case durable([FinishedJob])
  /// The flusher: everything that was merged when the flush began is on disk.
  case flushed
  /// The flusher: the disk is full or the store is busy; nothing is lost, and the flush is tried again.
  case storeUnwritable(StoreError)
  /// The flusher: the store can be written again.
  case storeWritable
  /// The flusher: the store failed; whether the last changes are on disk is not known.
  case storeFailed(any Error)
  /// The releaser: these jobs, which are on disk, have left the schedule, so that there may be room for others.
  case released([FinishedJob])
  /// The releaser: the jobs of this file in `cur/` are final, but whether it is released or refused is in doubt.
  case doubtful(FileName)
  /// The control: another specification has taken the place of this job's, with which it is over for its file.
  case superseded(FinishedJob)
  /// The releaser, or the refuser: no file of this name is in `cur/` any more.
  case nameFree(FileName)
  /// The membership: the lead has assigned these runs to this host.
  case assigned([Run])
  /// The membership: the lead has this run end.
  case toldToEnd(RunStop)
  /// The scheduler: these runs were assigned to this host, and no worker has begun them; others are to have their jobs.
  case givenBack([Run])
  /// The membership: the database of the fleet does not answer, or does again, and this host may begin runs.
  case database(isAway: Bool)
  /// The membership: jobs of this spool may have ended on other hosts.
  case outcomesKnown
  /// The membership: the database has not answered for so long that other hosts may begin what runs here.
  case leaseIsDoubtful
  /// The membership: this host leads, and has loaded the ledger.
  case leads
  /// The membership, while this host leads: so many jobs of the fleet have ended, in these states.
  case endedInFleet([JobState: Int])
  /// The fleet: the records of these jobs of this spool were changed by others.
  case changedElsewhere([ManagedObjectID])
  /// The fleet: the lead has ended these jobs of this spool, which nobody ran.
  case endedByLead([FinishedJob])
  /// The membership: operators have paused or resumed something, on whichever host.
  case pausesChanged
  /// The faults of this host: types are held for them, or tried again, or jobs wait for what it lacks.
  case hostFaultsChanged
  /// The hot folders: one has a problem, or none any more.
  case hotFoldersChanged
  /// The schedules: moments of one have passed, and nothing fired.
  case scheduleMissed(Timetable.Missed)
  /// The schedules: the jobs of a firing are refused, with the reason.
  case firingRefused(Firing, String)
  /// The copier of the store: a copy could not be made, or can again.
  case copyChanged
  /// Any part: the daemon must end at once.
  case fatal(FatalFailure)
}

/// The reason why the daemon must end at once.
package enum FatalFailure: Error, Sendable {
  /// The store failed; its last writes may or may not be on disk, so the next start must find out.
  case storeFailure(String)
  case internalFailure(String)
  /// Others of the fleet have this host's work: it was silent for too long, or somebody has joined under its root.
  case fenced
}

/// The way from the parts of the daemon, which are made one after the other, to the place that handles their reports.
///
/// A report is handled on the thread that sends it, before `send` returns.
final class DaemonEvents: Sendable {
  /// A closure that is itself a generic type's value gets another wrapper at each access.
  private struct Handler {
    var call: (@Sendable (DaemonEvent) -> Void)?
  }

  private let handler = Mutex(Handler())

  /// Sets the place that handles reports; once, before the first of them.
  func connect(_ handler: @escaping @Sendable (DaemonEvent) -> Void) { self.handler.withLock { $0.call = handler } }

  /// Has a report handled.
  func send(_ event: DaemonEvent) { handler.withLock { $0.call }?(event) }
}
