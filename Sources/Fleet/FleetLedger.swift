package import ObjectGraph

/// The database that the hosts of a fleet share, as far as they and the lead work with it.
///
/// Each request is one transaction at READ COMMITTED, if it does not say otherwise. Every request with a ``Receipt``
/// begins with the fence:
///
///     UPDATE _session SET number = $n WHERE host = $h AND slot = $s AND number = $n - 1
///
/// No row: ``LedgerError/stale``, and nothing is written. The comparison with the number before keeps out a transaction
/// whose connection broke, and which the server executes after its host has written the same again.
package protocol FleetLedger {
  /// Makes a request, and waits for its answer.
  ///
  /// - Parameter request: the request; the lead's and writers' carry the receipt of their slot.
  /// - Returns: what the request promises.
  /// - Throws: the reason why there is no answer.
  func perform(_ request: LedgerRequest) throws(LedgerError) -> LedgerReply
}

/// A reason why a request has no answer.
package enum LedgerError: Error, Sendable, Equatable {
  /// The fence did not hold: the host was fenced, or this transaction was written before. ``LedgerRequest/outcome(of:)``
  /// tells which.
  case stale
  /// The host is not alive any more: it writes nothing, and ends.
  case fenced
  /// Nothing was written: there was no database, or it gave up the transaction.
  case unavailable
  /// The answer was lost; whether it was written is told by ``LedgerRequest/outcome(of:)``.
  case unknown
  /// Nothing was written, and nothing would be another time: the server refuses what is asked, as the text says for people.
  case impossible(String)
  /// The fence held and an assignment was missing all the same: a contradiction, after which the host must stop.
  case contradiction
  /// Another server answers than the one that the request goes by, and may lack what that knew: nothing was written, and the
  /// host must stop.
  case setBack
}

extension LedgerRequest {
  /// True if it writes nothing under a receipt, so that it may simply be made again when its answer is lost.
  var isRepeatable: Bool {
    switch self {
    case .replaceSlot, .readNews: true
    default: false
    }
  }
}

extension LedgerError {
  /// True if the same would be answered the same way.
  package var isFinal: Bool {
    switch self {
    case .fenced, .impossible, .contradiction, .setBack: true
    case .stale, .unavailable, .unknown: false
    }
  }
}

/// The number of a transaction in a slot: the session's row is fence and receipt in one.
package struct Receipt: Sendable, Hashable {
  package let host: Int
  /// The number of the writing connection, which is used once.
  package let slot: Int
  /// Counts the slot's transactions, from 1.
  package let number: Int64
  /// The timeline of the server by whose answers the transaction goes: another one refuses it, by ``LedgerError/setBack``.
  /// Nil where that would lack nothing.
  package let timeline: Int64?

  package init(host: Int, slot: Int, number: Int64, timeline: Int64? = nil) {
    self.host = host
    self.slot = slot
    self.number = number
    self.timeline = timeline
  }
}

/// A request to the ledger.
package enum LedgerRequest: Sendable {
  /// Buries whoever is still alive under the same root, and enters a host with a new number, which is never used again,
  /// a beat, and the slots 0, 1 and 2. Answered by ``LedgerReply/joined(host:time:)``.
  case join(FleetHost)
  /// `UPDATE _beat SET seen = now() WHERE host`; no row: ``LedgerError/fenced``. Answered by ``LedgerReply/beaten(_:)``,
  /// which tells of what lies above the floors.
  case beat(host: Int, above: BeatFloors = BeatFloors())
  /// Reads the runs of a host with numbers above one, and which of all are told to end. Answered by
  /// ``LedgerReply/runs(_:stops:last:)``.
  case readRuns(host: Int, after: Int64 = 0)
  /// Records orders of the files that jobs came with, and then inserts those whose names are new, with news of all. Answered
  /// by ``LedgerReply/written``.
  case admit([FleetJob], placing: [NumberedOrder] = [], Receipt)
  /// Records an order under a number of its host's, and news of it. Answered by ``LedgerReply/written``.
  case order(Order, ticket: Int64, Receipt)
  /// Deletes runs of this host, all of them or ``LedgerError/contradiction``, with the effects and outcomes of their
  /// attempts, and inserts news of them. Answered by ``LedgerReply/written``.
  case flush([EndedRun], Receipt)
  /// Replaces a slot by a new one, under `SELECT FROM _host WHERE state = 'alive' FOR UPDATE`: else a slot that is made
  /// during a takeover would survive it. Answered by ``LedgerReply/written``, or ``LedgerError/fenced``.
  case replaceSlot(host: Int, old: Int, new: Int)
  /// `SELECT number FROM _session FOR UPDATE`, which waits for a transaction under way. No row, or a number before the one
  /// that the slot had already: ``LedgerError/fenced``. Answered by ``LedgerReply/outcome(isWritten:)``.
  case outcome(of: Receipt)
  /// Becomes the lead, if the term is still that one and the lead silent; a lead that was there is fenced in the same
  /// transaction. Answered by ``LedgerReply/leads(term:)`` or ``LedgerReply/refused``.
  case lead(after: Int64, silence: Silence, Receipt)
  /// Deletes the inbox and reads what a schedule is made of, in one snapshot (REPEATABLE READ), so that what is
  /// committed later comes as news. Answered by ``LedgerReply/loaded(_:)``.
  case load(first: FirstJobs = FirstJobs(), Receipt)
  /// Reads jobs that a load has named, as far as they still belong into a schedule. Answered by
  /// ``LedgerReply/loadedJobs(_:)``.
  case loadJobs([ManagedObjectID], Receipt)
  /// Reads what can only be told when all jobs are there: those of some names, as far as they are known, and the orders
  /// that have no answer, with the rows of their jobs. Answered by ``LedgerReply/loadedRest(known:orders:)``.
  case loadRest(names: Set<String>, Receipt)
  /// Reads news above a number, but for those that the lead knows already, and deletes none. Answered by
  /// ``LedgerReply/readNews(_:timeline:)``.
  case readNews(above: Int64, besides: [Int64])
  /// A lead's round. Answered by ``LedgerReply/news(_:_:)``.
  case round(LeadRound, Receipt)
  /// Deletes jobs with all that is theirs, as far as they are final and not in quarantine, nobody runs them, no order to
  /// them is open, and the hosts of their spools have acted on their ends. Answered by ``LedgerReply/removed(_:)``.
  case remove([FinalJob], Receipt)
  /// Fences a host that has been silent for so long: ends its backends; `DELETE FROM _beat WHERE seen <=
  /// now() - silence`, which is the decision, since a beat waits for that row and then finds none; marks it lost, deletes its
  /// sessions, its runs, and has their jobs wait again. Answered by ``LedgerReply/tookOver(_:)`` or ``LedgerReply/refused``.
  case fence(host: Int, silence: Silence, Receipt)
  /// Does the same at once with whoever is alive under a root, whose lock the caller holds, and leaves connections that are
  /// idle, over which a store is still to be closed. With a host's number only that one is meant, which leaves by itself:
  /// another may have joined under its root. Answered by ``LedgerReply/written``.
  case bury(root: String, host: Int? = nil)
}

/// A silence for which a host is taken over.
package struct Silence: Sendable, Equatable {
  /// In milliseconds.
  package let length: Int64
  /// The server's time, in milliseconds since 1970, of the beat that has told of it, by a host who had the database meanwhile.
  /// The time since does not count: a request can be made again behind an outage, in which everybody was silent. Nil for now.
  package let end: Int64?

  package init(_ length: Int64, until end: Int64? = nil) { (self.length, self.end) = (length, end) }
}

/// The jobs that a load reads at once besides those that are assigned.
package struct FirstJobs: Sendable {
  package let count: Int
  /// The milliseconds of waiting that one step of priority is worth, in the order of which they are the first.
  package let agingStep: Int64

  package init(_ count: Int = .max, agingStep: Int64 = 0) {
    self.count = count
    self.agingStep = agingStep
  }
}

/// The answer to a request.
package enum LedgerReply: Sendable {
  /// Its number, and the server's time.
  case joined(host: Int, time: Int64)
  case beaten(Beat)
  /// With the highest number of the runs, which grows with each that a lead assigns.
  case runs([Run], stops: [RunStop], last: Int64)
  case written
  case outcome(isWritten: Bool)
  case leads(term: Int64)
  case loaded(FleetState)
  case loadedJobs([FleetJob])
  case loadedRest(known: [String: NamedJob], orders: [PlacedOrder])
  /// News above the floor, by their numbers.
  case news([(number: Int64, news: News)], TransactionHorizon)
  /// The same of a reading alone, with the timeline of the server that has them.
  case readNews([(number: Int64, news: News)], timeline: Int64)
  case tookOver([Run])
  /// The number of jobs that were deleted.
  case removed(Int)
  /// The condition does not hold any more; nothing was written.
  case refused
}
