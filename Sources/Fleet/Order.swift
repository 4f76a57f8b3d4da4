package import JobSchedule
package import Jobs
package import ObjectGraph

/// An operator's order or question, which any host takes and the lead answers.
package enum Order: Sendable, Equatable {
  /// A job that a command is for.
  package struct Target: Sendable, Equatable {
    package let job: ManagedObjectID
    /// The attempts that it gets if it is put back.
    package let attempts: Int

    package init(_ job: ManagedObjectID, attempts: Int) {
      self.job = job
      self.attempts = attempts
    }
  }

  /// A selection of unfinished jobs; nil, or no state, matches any.
  package struct Selection: Sendable, Equatable {
    package var queue: String?
    package var type: String?
    package var batch: String?
    package var states: Set<JobState>
    /// The jobs that are left out, and the most that are told, the last arrivals first.
    package var offset: Int
    package var limit: Int

    package init(queue: String?, type: String?, batch: String?, states: Set<JobState>, offset: Int, limit: Int) {
      self.queue = queue
      self.type = type
      self.batch = batch
      self.states = states
      self.offset = offset
      self.limit = limit
    }
  }

  case pause(Resource.Name, Bool)
  case command(JobCommand, [Target])
  /// Asks why a job does not run.
  case explain(ManagedObjectID)
  case find(Selection)

  /// The jobs that it names.
  package var jobs: [ManagedObjectID] {
    switch self {
    case .pause, .find: []
    case .command(_, let targets): targets.map(\.job)
    case .explain(let job): [job]
    }
  }
}

extension Schedule {
  /// The jobs of a selection that it tells, and how many there are.
  package func find(_ selection: Order.Selection) -> (jobs: [OrderAnswer.FoundJob], total: Int) {
    let found = jobs(
      inQueue: selection.queue, ofType: selection.type, ofBatch: selection.batch, in: selection.states)
    let shown = found.reversed().dropFirst(selection.offset).prefix(selection.limit)
    return (shown.map { OrderAnswer.FoundJob(job: $0.id, state: $0.state) }, found.count)
  }
}

/// An order on record, and the rows of the jobs that it names.
package struct PlacedOrder: Sendable {
  /// The host that has taken it, and the number that it has given it.
  package let host: Int
  package let ticket: Int64
  package let order: Order
  package var jobs: [FleetJob]

  package init(host: Int, ticket: Int64, order: Order, jobs: [FleetJob]) {
    self.host = host
    self.ticket = ticket
    self.order = order
    self.jobs = jobs
  }
}

/// Orders that wait know their jobs by rows, which others write meanwhile.
extension [PlacedOrder] {
  /// Notes that jobs have ended since their rows were read.
  mutating func note(_ ends: [ManagedObjectID: JobState]) {
    note { job in if let end = ends[job.id] { job.state = end } }
  }

  /// Notes that an attempt has ended a job since its row was read, with all that it may have left.
  mutating func note(_ run: Run, endedAs state: JobState) {
    note { job in
      if job.id != run.job { return }
      (job.state, job.attempt, job.isPartial) = (state, run.attempt, false)
    }
  }

  private mutating func note(_ change: (inout FleetJob) -> Void) {
    for order in indices {
      for job in self[order].jobs.indices { change(&self[order].jobs[job]) }
    }
  }
}

/// The lead's answer to an order.
package struct OrderAnswer: Sendable, Equatable {
  /// The outcome of a command for one job.
  package enum Outcome: Sendable, Equatable {
    case done
    case unknown
    /// The job's state does not allow it.
    case impossible(JobState)
    /// Another unfinished job has its unique key.
    case keyTaken(JobState, owner: ManagedObjectID)
  }

  package enum Content: Sendable, Equatable {
    case done
    case outcomes([Outcome])
    /// The state of an unfinished job, or nil, and what keeps it from running.
    case explanation(JobState?, [Schedule.Obstacle])
    /// Some of the jobs that were found, and how many there are.
    case found([FoundJob], total: Int)
  }

  package struct FoundJob: Sendable, Equatable {
    package let job: ManagedObjectID
    package let state: JobState

    package init(job: ManagedObjectID, state: JobState) {
      self.job = job
      self.state = state
    }
  }

  package let host: Int
  package let ticket: Int64
  package let content: Content

  package init(host: Int, ticket: Int64, content: Content) {
    self.host = host
    self.ticket = ticket
    self.content = content
  }
}

/// The lead's order to end a run, which stands beside it until it has ended.
package struct RunStop: Sendable, Hashable {
  package let run: Run
  /// ``JobEvent/cancelled`` or ``JobEvent/held``.
  package let event: JobEvent
  package let reason: String?

  package init(run: Run, event: JobEvent, reason: String?) {
    self.run = run
    self.event = event
    self.reason = reason
  }
}

/// A change of a job that the lead has decided.
package struct JobChange: Sendable, Equatable {
  package enum Reason: Sendable, Equatable {
    case text(String)
    /// Another job, which must be completed before it, has ended otherwise.
    case end(of: ManagedObjectID)
  }

  package enum Kind: Sendable, Equatable {
    /// It is cancelled, held or available, without having run.
    case state(JobState, Reason?)
    /// It is to be cancelled or held as soon as a host can do it.
    case stop(JobEvent, String?)
    case priority(Int)
    /// It is put back, or need not wait for its next attempt, with so many attempts from now on.
    case again(attempts: Int)
  }

  package let job: ManagedObjectID
  package let kind: Kind

  package init(_ job: ManagedObjectID, _ kind: Kind) {
    self.job = job
    self.kind = kind
  }

  /// The final state that it leads to, if it does.
  var end: JobState? { if case .state(let state, _) = kind, state.isFinal { state } else { nil } }
}
