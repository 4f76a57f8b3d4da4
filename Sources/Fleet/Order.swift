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
    package var page: Schedule.Page

    package init(queue: String?, type: String?, batch: String?, states: Set<JobState>, page: Schedule.Page) {
      self.queue = queue
      self.type = type
      self.batch = batch
      self.states = states
      self.page = page
    }
  }

  /// A question to the lead, which changes nothing.
  package enum Question: Sendable, Equatable {
    /// Asks why a job does not run.
    case explain(ManagedObjectID)
    /// Lists jobs.
    case find(Selection)
    /// Asks for the states of some jobs; those that are not unfinished are left out of the answer.
    case states([ManagedObjectID])
    /// Asks for the queues and types of the fleet.
    case resources
  }

  case pause(Resource.Name, Bool)
  case command(JobCommand, [Target])
  /// Specifications that take the place of known jobs'; together, when nothing is left of what they replace.
  case replace([JobReplacement])
  case edit(ArgumentChange)
  /// A question, for whose answer somebody waits until a time of the fleet.
  case ask(Question, until: Int64)
  /// An order that only a newer release understands.
  case unreadable

  /// The jobs that it names.
  package var jobs: [ManagedObjectID] {
    switch self {
    case .command(_, let targets): targets.map(\.job)
    case .replace(let replacements): replacements.map(\.job)
    case .edit(let change): [change.job]
    case .pause, .ask, .unreadable: []
    }
  }
}

extension Schedule {
  /// The jobs of a selection that it tells, and how many there are.
  package func find(_ selection: Order.Selection) -> (jobs: [OrderAnswer.FoundJob], total: Int) {
    let (found, total) = jobs(
      inQueue: selection.queue, ofType: selection.type, ofBatch: selection.batch, in: selection.states,
      page: selection.page)
    return (found.map { OrderAnswer.FoundJob(job: $0.id, state: $0.state) }, total)
  }
}

/// An order, and the number that its host gives it.
package struct NumberedOrder: Sendable {
  package let order: Order
  package let ticket: Int64

  package init(_ order: Order, ticket: Int64) {
    self.order = order
    self.ticket = ticket
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
    /// An unfinished job names it.
    case needed(JobState, by: ManagedObjectID)
    /// A part of its work is in the store.
    case begun
    /// An earlier order is to replace it, for which something has to end first.
    case replacing
    /// Its arguments are not those any more of which the new ones are made.
    case changed
  }

  package enum Content: Sendable, Equatable {
    case done
    case outcomes([Outcome])
    /// The state of an unfinished job, or nil, and what keeps it from running.
    case explanation(JobState?, [Schedule.Obstacle])
    /// Some of the jobs that were found, and how many there are.
    case found([FoundJob], total: Int)
    /// Nobody waits for an answer to the question any more.
    case late
    /// The lead is of another release than the host that asks, and they don't understand each other.
    case unreadable
    /// Everything, the queues and the types.
    case resources([Schedule.ResourceView])
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
