package import JobSchedule
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

/// Numbers up to which a host has read what a beat tells of, and below which nothing comes late.
package struct BeatFloors: Sendable, Equatable {
  package var runs: Int64 = 0
  /// Number of the last news, for the lead.
  package var news: Int64 = 0
  package var outcomes: Int64 = 0

  package init() {}
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

/// A round of the lead: all that it writes in one transaction, which reads news as well.
package struct LeadRound: Sendable {
  /// News up to this number have been read, and nothing comes late any more.
  package var floor: Int64
  /// The numbers of news that were read before, and are only deleted.
  package var knownNews: [Int64] = []
  /// New assignments.
  package var runs: [Run] = []
  /// The number of them that count for each rate, with the milliseconds for which they do.
  package var starts: [Resource.Name: (count: Int, period: Int64)] = [:]
  /// Changes of jobs, in their order.
  package var changes: [JobChange] = []
  /// Runs that are told to end, as far as they have not.
  package var stops: [RunStop] = []
  /// Answers to orders.
  package var answers: [OrderAnswer] = []
  /// Hosts that are gone: runs that were still assigned to them are deleted once more.
  package var gone: [Int] = []

  package var isEmpty: Bool {
    runs.isEmpty && changes.isEmpty && stops.isEmpty && answers.isEmpty && gone.isEmpty
  }

  /// Adds an assignment that counts for rates.
  mutating func start(_ run: Run, counting rates: [(name: Resource.Name, period: Int64)]) {
    runs.append(run)
    for rate in rates { starts[rate.name] = ((starts[rate.name]?.count ?? 0) + 1, rate.period) }
  }

  /// The jobs that it deletes, as far as nobody needs their records.
  package var deleted: [FinalJob] {
    changes.compactMap { change in
      if case .deleted(let name) = change.kind { FinalJob(id: change.job, name: name) } else { nil }
    }
  }

  /// The hosts for which there is something in it.
  var addressees: Set<Int> {
    Set(runs.map(\.host)).union(stops.map(\.run.host)).union(answers.map(\.host))
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

/// The server that answers, as far as it matters what it knows after a failover.
package struct LedgerServer: Sendable, Equatable {
  /// The number of its history: another one after a failover, and after a backup was brought back.
  package let timeline: Int64
  /// True if commits wait for a synchronous standby, so that a failover to it loses nothing that was answered.
  package let isReplicated: Bool

  package init(timeline: Int64, isReplicated: Bool) {
    self.timeline = timeline
    self.isReplicated = isReplicated
  }
}

/// The log of the server that answers, in bytes, and how far its standbys have followed it.
package struct LedgerLog: Sendable, Equatable {
  /// The end of what is written to it, behind everything that was answered before.
  package var position: Int64 = 0
  /// The place up to which all standbys have it on disk; nil if none tells one.
  package var followedTo: Int64?
  /// The number of standbys that follow, synchronous or not; of all that receive the log where they are hidden.
  package var standbyCount = 0
  /// True if this role may not see which standbys there are.
  package var isHidden = false

  package init() {}
}

/// The answer to a beat: how the fleet is, by the server's clock.
package struct Beat: Sendable {
  /// The server's time, in milliseconds since 1970.
  package var time: Int64
  package var server: LedgerServer
  package var log = LedgerLog()
  package var term: Int64
  package var lead: Int?
  /// The milliseconds since the lead's last beat; nil if nobody alive leads.
  package var leadSilence: Int64?
  /// The longest silence of a host that is alive, and the hosts in its order, the most silent first; for the lead only.
  package var silences: [(host: Int, time: Int64)]
  /// The number of runs of the host that beats, above its floor.
  package var runCount: Int
  /// The number of them that are told to end.
  package var stopCount: Int
  /// The number of the last news above the floor, if there are any; for the lead only.
  package var news: Int64?
  /// The number of the last end of jobs of the host's spool that it has not forgotten yet, above the floor.
  package var outcome: Int64?
  /// The resources that operators have paused, and the hosts that they have drained.
  package var paused: Set<Resource.Name>

  package init(
    time: Int64, server: LedgerServer, term: Int64, lead: Int?, leadSilence: Int64?,
    silences: [(host: Int, time: Int64)], runCount: Int,
    stopCount: Int = 0, news: Int64? = nil, outcome: Int64? = nil, paused: Set<Resource.Name> = []
  ) {
    self.time = time
    self.server = server
    self.term = term
    self.lead = lead
    self.leadSilence = leadSilence
    self.silences = silences
    self.runCount = runCount
    self.stopCount = stopCount
    self.news = news
    self.outcome = outcome
    self.paused = paused
  }

  /// True if there are runs to read, or orders to end some, beside those that are known.
  func hasRuns(besides knownStops: Int) -> Bool { runCount > 0 || stopCount > knownStops }
}
