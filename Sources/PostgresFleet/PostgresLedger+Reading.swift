package import Fleet
import Foundation
package import Jobs
import PostgresStore
package import StoreInterface

/// Readings beside the requests of a member: those for people, and of a host the ends of its spool's jobs and the answers to
/// its orders.
///
/// Each is a transaction of its own, and throws a ``StoreError`` that says why it could not be made.
extension PostgresLedger {
  // MARK: For people

  /// Reads how the fleet is, for people.
  package func overview() throws(StoreError) -> FleetOverview {
    try apart { (transaction) throws(StoreError) in
      let results = try transaction.commit([
        IndexSearch.end, LedgerStatements.lead, LedgerStatements.knownHosts, JobRows.countUnfinished,
        LedgerFormat.reading, LedgerStatements.server,
      ])
      let (lead, counts) = (results[1], results[3])
      return FleetOverview(
        term: lead.integer(0, 0), lead: lead.isNull(0, 1) ? nil : Int(lead.integer(0, 1)),
        format: Int(results[4].integer(0, 0)), isReplicated: transaction.server(results[5]).isReplicated,
        hosts: transaction.knownHosts(results[2]),
        needs: (0..<counts.rowCount).map { row in
          FleetOverview.NeedCount(
            state: JobRows.state(counts.text(row, 0)), type: counts.text(row, 1),
            place: counts.textIfPresent(row, 2), count: Int(counts.integer(row, 3)))
        })
    }
  }

  /// Reads the hosts of all roots, dead or alive.
  package func knownHosts() throws(StoreError) -> [FleetOverview.Host] {
    try apart { (transaction) throws(StoreError) in
      transaction.knownHosts(try transaction.connection.pipeline([LedgerStatements.knownHosts])[0])
    }
  }

  /// Reads what a job asks of its host, and the hosts of all roots; nil if there is no such job.
  package func need(
    of job: ManagedObjectID
  ) throws(StoreError) -> (type: String, place: String?, hosts: [FleetOverview.Host])? {
    try apart { (transaction) throws(StoreError) in
      let results = try transaction.connection.pipeline([
        LedgerStatements.need(ofJob: job.key), LedgerStatements.knownHosts,
      ])
      if results[0].rowCount == 0 { return nil }
      return (results[0].text(0, 0), results[0].textIfPresent(0, 1), transaction.knownHosts(results[1]))
    }
  }

  /// Reads which hosts run some of these jobs.
  package func places(of ids: [ManagedObjectID]) throws(StoreError) -> [ManagedObjectID: RunPlace] {
    try apart { (transaction) throws(StoreError) in
      let found = try transaction.connection.pipeline([LedgerStatements.runs(ofJobs: ids.map(\.key))])[0]
      var places: [ManagedObjectID: RunPlace] = [:]
      for row in 0..<found.rowCount {
        places[transaction.jobs.id(found.integer(row, 0))] = RunPlace(
          root: found.text(row, 1), attempt: Int(found.integer(row, 2)), isStopped: found.integer(row, 3) == 1,
          reason: found.textIfPresent(row, 4))
      }
      return places
    }
  }

  // MARK: Jobs

  /// Reads jobs as their records have them, but for those that have none; without their files.
  package func records(of ids: [ManagedObjectID]) throws(StoreError) -> [ManagedObjectID: RecordedJob] {
    if ids.isEmpty { return [:] }
    return try apart { (transaction) throws(StoreError) in
      transaction.jobs.records(try transaction.connection.pipeline([JobRows.records(of: ids)])[0])
    }
  }

  /// Reads the jobs that have some names.
  package func known(_ names: [String]) throws(StoreError) -> [KnownJob] {
    try apart { (transaction) throws(StoreError) in
      transaction.jobs.known(try transaction.connection.pipeline([JobRows.known(names)])[0])
    }
  }

  /// Reads the copy of an input that came with a job; nil if there is none.
  package func input(_ path: String, of job: ManagedObjectID) throws(StoreError) -> InputCopy? {
    try apart { (transaction) throws(StoreError) in
      let found = try transaction.connection.pipeline([InputRows.read(path, of: job)])[0]
      if found.rowCount == 0 { return nil }
      return InputCopy(path: path, content: Data(found.blob(0, 1)), modificationTime: found.integer(0, 0))
    }
  }

  // MARK: Ends elsewhere

  /// Reads which jobs that came to a spool have ended on other hosts, with numbers above a floor, but for those whose
  /// numbers are known.
  ///
  /// - Parameter asksForWriters: see ``NewsFloor/asksForWriters(at:)``.
  package func outcomes(
    of spool: String, above floor: Int64, besides known: [Int64], askingForWriters asksForWriters: Bool = false
  ) throws(StoreError) -> ([Outcome], TransactionHorizon) {
    try apart { (transaction) throws(StoreError) in
      let results = try transaction.commit([
        LedgerStatements.readHorizon(of: "_outcome", withWriters: asksForWriters),
        LedgerStatements.outcomes(of: spool, above: floor, besides: known),
      ])
      let found = results[1]
      var outcomes: [Outcome] = []
      for row in 0..<found.rowCount {
        let number = found.integer(row, 0)
        if outcomes.last?.number != number { outcomes.append(Outcome(number: number, jobs: [])) }
        outcomes[outcomes.count - 1].jobs.append(transaction.jobs.id(found.integer(row, 1)))
      }
      return (outcomes, transaction.horizon(results[0]))
    }
  }

  /// Forgets outcomes on which the spool's host has acted.
  package func forget(_ outcomes: [Outcome]) throws(StoreError) {
    // What comes back after a crash of the server is looked at once more.
    try change(LedgerStatements.forgetOutcomes(outcomes.map(\.number)), waitsForDisk: false)
  }

  // MARK: Answers to orders

  /// Reads the answers to orders of a host, by their numbers.
  ///
  /// - Parameter first: the first order that may have one; before it lie rows that are dead, and may be kept for long.
  package func answers(to host: Int, from first: Int64) throws(StoreError) -> [Int64: OrderAnswer.Content] {
    try apart { (transaction) throws(StoreError) in
      let found = try transaction.connection.pipeline([LedgerStatements.answers(to: host, from: first)])[0]
      var answers: [Int64: OrderAnswer.Content] = [:]
      for row in 0..<found.rowCount {
        answers[found.integer(row, 0)] = OrderText.answer(found.text(row, 1), id: transaction.jobs.id)
      }
      return answers
    }
  }

  /// Forgets orders whose answers have arrived.
  package func forgetAnswers(to host: Int, _ tickets: [Int64]) throws(StoreError) {
    // What comes back after a crash of the server is read by nobody, and goes with its host.
    try change(LedgerStatements.forgetAnswers(to: host, tickets), waitsForDisk: false)
  }

  // MARK: This host

  /// Sets the types that a host has handlers for, and those of them of which it is given no jobs for now.
  package func setTypes(_ types: Set<String>, withheld: Set<String>, of host: Int) throws(StoreError) {
    try change(LedgerStatements.setTypes(types, withheld: withheld, of: host))
  }

  private func change(_ statement: Request, waitsForDisk: Bool = true) throws(StoreError) {
    try apart { (transaction) throws(StoreError) in
      _ = try transaction.commit(
        (waitsForDisk ? [] : [Request("SET LOCAL synchronous_commit = off")]) + [statement])
    }
  }
}

extension LedgerTransaction {
  fileprivate func knownHosts(_ read: QueryResult) -> [FleetOverview.Host] {
    (0..<read.rowCount).map { row in
      let host = host(read, row, from: 1)
      return FleetOverview.Host(
        number: Int(read.integer(row, 0)), root: host.root, slots: host.slots, types: host.types, places: host.places,
        isAlive: read.integer(row, 5) == 1, isDrained: read.integer(row, 6) == 1, silence: read.integer(row, 7),
        runCount: Int(read.integer(row, 8)), release: read.text(row, 9),
        formats: Int(read.integer(row, 10))...Int(read.integer(row, 11)))
    }
  }
}
