package import JobSchedule
package import Jobs
package import ObjectGraph

/// A round of the lead: all that it writes in one transaction, which reads news as well.
package struct LeadRound: Sendable {
  /// News up to this number have been read, and nothing comes late any more.
  package var floor: Int64
  /// The numbers of news that were read before, and are only deleted.
  package var knownNews: [Int64] = []
  /// True to ask for the transactions that write news; see ``NewsFloor/asksForWriters(at:)``.
  package var asksForWriters = false
  /// New assignments.
  package var runs: [Run] = []
  /// The number of them that count for each rate, with the milliseconds for which they do.
  package var starts: [Resource.Name: (count: Int, period: Int64)] = [:]
  /// True to drop the records of starts that do not count any more: seldom, since it looks at all that an old snapshot keeps.
  package var forgetsStarts = false
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

/// The lead's order to end a run, which stands beside it until it has ended.
package struct RunStop: Sendable, Hashable {
  package let run: Run
  /// ``JobEvent/cancelled`` or ``JobEvent/held``, ``JobEvent/gaveUp`` for what an earlier attempt has decided, or
  /// ``JobEvent/interrupted`` if the job is to be reverted, and held, since another specification takes its place.
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
    /// It is to end by an event as soon as a host can revert it.
    case stop(JobEvent, String?)
    case priority(Int)
    /// It is put back, or need not wait for its next attempt, with so many attempts from now on, and with the
    /// options of another specification, if there is one.
    case again(attempts: Int, JobSpecification? = nil)
    /// It has another specification, and runs anew; news of it come.
    case replaced(JobReplacement, isHeld: Bool)
    /// It has other arguments; news of it come.
    case edited(ArgumentChange)
    /// It is deleted with all that is its own, unless somebody still needs its record.
    case deleted(name: String)
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
