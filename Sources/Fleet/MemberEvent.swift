package import JobSchedule
package import Jobs
package import ObjectGraph

/// Something that happens to a host of the fleet.
package enum MemberEvent: Sendable {
  case beatDue
  /// A request has an answer, or is known to have none; `sentAt` is on the host's steady clock.
  case answered(MemberChannel, Result<LedgerReply, LedgerError>, sentAt: Int64)
  case retryDue(MemberChannel)
  /// The lead's next round is due.
  case roundDue
  /// The jitter before a candidacy is over.
  case candidacyDue
  /// The lease may be over, unless a beat was answered since.
  case leaseDue
  /// A notification: there may be something to read. It may be lost.
  case hinted(MemberHint)
  /// A handler has ended, and what it leaves is in this end.
  case finished(EndedRun)
  /// A save of the store has written these ends, together with what the handlers left.
  case recorded([EndedRun])
  /// The configured limits of queues and types.
  case limited([ResourceLimits])
  /// Jobs came, and with them orders that hold if they are admitted.
  case admit([FleetJob], placing: [NumberedOrder] = [])
  case order(Order, ticket: Int64)
  /// The outcomes of its spool's jobs up to this number have been read and forgotten, and nothing comes late.
  case readOutcomes(upTo: Int64)
  /// Final jobs are too old, or too many; one such request at a time.
  case remove([FinalJob])
}

/// A connection of a host to the database; each has at most one request under way.
package enum MemberChannel: Int, Sendable, Hashable, CaseIterable {
  case beat
  case runs
  case flush
  case intake
  case lead
}

/// An action that an event leads to.
package enum MemberAction: Sendable {
  case send(LedgerRequest, MemberChannel)
  /// Report an event after so many milliseconds; an earlier one of its kind stays.
  case wake(MemberEvent, after: Int64)
  /// Start a handler.
  case start(Run)
  case report(MemberReport)
  /// Send a hint to hosts, apart from any transaction that writes.
  case hint([Int], MemberHint)
  /// End at once, and write nothing more.
  case end(MemberEnd)
}

/// A report to whoever runs the jobs of a host.
package enum MemberReport: Sendable {
  /// Tell the attempt of a run to end; one that has not begun ends at once.
  case stopped(RunStop)
  /// These jobs are in the ledger.
  case admitted([ManagedObjectID])
  /// The server refuses these jobs for good, and none of them is in the ledger.
  case notAdmitted([ManagedObjectID], because: String)
  /// The server refuses the order of this number for good.
  case notPlaced(ticket: Int64, because: String)
  /// The database has not answered for so long that others may begin what runs here: nothing that must not run twice at a
  /// time may go on.
  case leaseIsDoubtful
  /// The host leads, and has loaded the ledger.
  case leads
  /// So many jobs of the fleet have ended, in these states, as far as the lead has heard of it.
  case ended([JobState: Int])
  /// So many of the jobs that were to be removed are gone.
  case removed(Int)
  /// The server refuses for good to remove the jobs.
  case notRemoved(because: String)
}

/// The subject of a hint.
package enum MemberHint: String, Sendable, Hashable, CaseIterable {
  /// The lead has written something for the host: runs, or orders to end them, or answers.
  case runs
  /// There are news for the lead.
  case news
  /// Jobs of the host's spool may have ended elsewhere.
  case outcomes
}

/// The reason why a host ends.
package enum MemberEnd: Sendable, Equatable {
  /// It was fenced: exit status 75, and the next incarnation has a new number.
  case fenced
  /// The database has failed over, and may have lost what it had told of: exit status 75 as well.
  case setBack
  /// The ledger contradicts what the host knows.
  case contradiction
  /// The server refuses for good what the host has to write.
  case refused(String)
}
