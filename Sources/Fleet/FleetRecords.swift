package import JobSchedule
package import Jobs
package import ObjectGraph

/// A host as it joins: what it can run, and how much at a time.
package struct FleetHost: Sendable, Equatable {
  /// The folder of its spool: at most one process at a time holds the lock in it.
  package let root: String
  /// The number of jobs that it runs at a time.
  package let slots: Int
  /// The types that it has handlers for.
  package let types: Set<String>
  /// The places that it offers, that of its own spool among them.
  package let places: Set<String>

  package init(root: String, slots: Int, types: Set<String>, places: Set<String>) {
    self.root = root
    self.slots = slots
    self.types = types
    self.places = places
  }
}

/// A job as the ledger knows it.
package struct FleetJob: Sendable {
  package let id: ManagedObjectID
  /// The ID by which clients and other jobs name it.
  package let name: String
  /// Without the arguments, which only its handler needs, unless it is being admitted or an order names it alone.
  package var specification: JobSpecification
  /// The place where it has to run; nil for any host.
  package var place: String?
  /// The moment of its admission, in milliseconds of the server's clock.
  package var created: Int64
  /// Its state as it was last saved; whether it runs is told by its ``Run``.
  package var state = JobState.available
  /// The number of its last attempt; each number is used once.
  package var attempt = 0
  /// The moment of the next attempt, in milliseconds of the server's clock, if the last one failed.
  package var retryTime: Int64?
  /// The name of its file in the spool of the host that has admitted it.
  package var file: String?
  /// The number of the user who has submitted it.
  package var submitter: Int64 = -1
  /// The root of the spool that it came to, whose host is told of its end.
  package var spool: String?
  /// True if checkpoints of its attempts have saved something, which is reverted if it is cancelled.
  package var isPartial = false
  /// Copies of inputs that other hosts do not see; only while it is admitted.
  package var inputs: [InputCopy] = []
  /// An order to its last attempt, whose host is gone.
  package var stop: (event: JobEvent, reason: String?)?

  package init(
    id: ManagedObjectID, name: String, specification: JobSpecification, place: String? = nil, created: Int64
  ) {
    self.id = id
    self.name = name
    self.specification = specification
    self.place = place
    self.created = created
  }

  /// True if it has had an attempt with this specification, or was put back; it waits for nothing any more.
  package var isBegun: Bool { attempt > specification.earlierAttempts }

  /// The specification with which it is put back, for whoever is told that by its record; nil if it is the same.
  var specificationPutBack: JobSpecification? {
    if isBegun || names.isEmpty && specification.afterBatch == nil { return nil }
    var new = specification
    new.earlierAttempts = attempt - 1
    return new
  }

  /// The names of the jobs that it waits for.
  package var names: [String] { specification.after + specification.afterAny }
}

/// An assignment: this host makes this attempt at this job. It is on record before a handler starts.
package struct Run: Sendable, Hashable {
  package let job: ManagedObjectID
  package let host: Int
  package let attempt: Int

  package init(job: ManagedObjectID, host: Int, attempt: Int) {
    self.job = job
    self.host = host
    self.attempt = attempt
  }
}

/// An attempt that has ended, and with it, in the same transaction, its effects.
package struct EndedRun: Sendable {
  package let run: Run
  /// The event by which it ended: ``JobEvent/succeeded``, ``JobEvent/failed``, ``JobEvent/gaveUp`` or
  /// ``JobEvent/interrupted``.
  package let event: JobEvent
  /// The moment of the next attempt after ``JobEvent/failed``, in milliseconds of the server's clock.
  package let retryTime: Int64?
  /// True if nothing is left of what it and earlier ones have saved with a cursor.
  package let isReverted: Bool

  package init(run: Run, event: JobEvent, retryTime: Int64? = nil, isReverted: Bool = false) {
    self.run = run
    self.event = event
    self.retryTime = retryTime
    self.isReverted = isReverted
  }
}

/// A final job that is too old, or one too many.
package struct FinalJob: Sendable, Equatable {
  package let id: ManagedObjectID
  /// The ID by which clients and other jobs name it.
  package let name: String

  package init(id: ManagedObjectID, name: String) {
    self.id = id
    self.name = name
  }
}

/// A known job, as far as others that name it have to know it.
package struct NamedJob: Sendable {
  package let id: ManagedObjectID
  package let state: JobState

  package init(id: ManagedObjectID, state: JobState) {
    self.id = id
    self.state = state
  }
}

/// Facts of a job by its record, for those who admit a job of the same name.
package struct KnownJob: Sendable {
  package let id: ManagedObjectID
  package let name: String
  package let state: JobState
  package let failure: String?
  /// The user; negative in a record from before submitters were recorded.
  package let submitter: Int64
  package let type: String
  package let arguments: String
  /// The file that it came in, and the spool.
  package let file: String?
  package let spool: String?
  /// The rest of its specification, as the record has it.
  package let options: String?
  /// The place where it has to run; nil for any host.
  package let place: String?

  package init(
    id: ManagedObjectID, name: String, state: JobState, failure: String?, submitter: Int64, type: String,
    arguments: String, file: String?, spool: String?, options: String?, place: String?
  ) {
    (self.options, self.place) = (options, place)
    self.id = id
    self.name = name
    self.state = state
    self.failure = failure
    self.submitter = submitter
    self.type = type
    self.arguments = arguments
    self.file = file
    self.spool = spool
  }
}

/// A job as its record has it.
package struct RecordedJob: Sendable {
  /// Without its file.
  package let job: FinishedJob
  /// True if the lead has ended it, if it has ended: nobody ran it then.
  package let isByLead: Bool

  package init(job: FinishedJob, isByLead: Bool) {
    self.job = job
    self.isByLead = isByLead
  }
}

/// One row of the lead's inbox. What it says is in the tables as well, so a lead that has lost it loads them.
package enum News: Sendable {
  /// A host has joined, or offers other types by now.
  case joined(Int, FleetHost)
  /// A host was buried by its successor; its runs are gone.
  case buried(Int)
  /// Jobs were admitted; by name, those among the jobs that they wait for which are known.
  case admitted([FleetJob], known: [String: NamedJob])
  case ended([EndedRun])
  case ordered(PlacedOrder)
  /// People have changed the tables: they are to be loaded anew.
  case changed

  /// The number of jobs that it tells of.
  var jobCount: Int {
    switch self {
    case .admitted(let jobs, _): jobs.count
    case .ended(let runs): runs.count
    case .joined, .buried, .ordered, .changed: 1
    }
  }
}

/// Starts of jobs that still count for a rate.
package struct RateStarts: Sendable {
  package let name: Resource.Name
  package let count: Int
  /// The milliseconds since then, by the server's clock.
  package let age: Int64

  package init(_ name: Resource.Name, count: Int, age: Int64) {
    self.name = name
    self.count = count
    self.age = age
  }
}

/// The tables of which a new lead makes its schedule, in one snapshot.
package struct FleetState: Sendable {
  package var hosts: [Int: FleetHost]
  package var runs: [Run]
  /// The runs among them that are told to end.
  package var stops: [RunStop]
  /// The unfinished jobs that are assigned, and the first of the others; in the order of their admission.
  package var jobs: [FleetJob]
  /// The other unfinished jobs, in the order in which a schedule has them.
  package var rest: [ManagedObjectID]
  /// By name, those among the jobs that they wait for which are known, if there is no rest.
  package var known: [String: NamedJob]
  package var paused: Set<Resource.Name>
  /// The starts that still count for rates, the oldest first.
  package var starts: [RateStarts]
  /// The orders that have no answer.
  package var orders: [PlacedOrder]

  package init(
    hosts: [Int: FleetHost], runs: [Run], stops: [RunStop] = [], jobs: [FleetJob], rest: [ManagedObjectID] = [],
    known: [String: NamedJob], paused: Set<Resource.Name>, starts: [RateStarts] = [], orders: [PlacedOrder] = []
  ) {
    self.hosts = hosts
    self.runs = runs
    self.stops = stops
    self.jobs = jobs
    self.rest = rest
    self.known = known
    self.paused = paused
    self.starts = starts
    self.orders = orders
  }
}

/// Jobs of a spool whose states have changed on other hosts, by one transaction.
package struct Outcome: Sendable, Equatable {
  package let number: Int64
  package var jobs: [ManagedObjectID]

  package init(number: Int64, jobs: [ManagedObjectID]) {
    self.number = number
    self.jobs = jobs
  }
}

/// The host where a job runs, for people.
package struct RunPlace: Sendable {
  package let root: String
  package let attempt: Int
  /// True if the attempt is told to end, with the reason.
  package let isStopped: Bool
  package let reason: String?

  package init(root: String, attempt: Int, isStopped: Bool, reason: String?) {
    self.root = root
    self.attempt = attempt
    self.isStopped = isStopped
    self.reason = reason
  }
}
