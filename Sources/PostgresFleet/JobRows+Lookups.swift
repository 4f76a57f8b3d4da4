import Fleet
import JSONText
import JobSchedule
import Jobs
import PostgresStore
import StoreInterface

/// The jobs that somebody asks for by name or by key, each with as much of its row as the question needs.
extension JobRows {
  // MARK: For the lead

  /// The jobs of some names.
  static func named(_ names: Set<String>) -> Request {
    Request(#"SELECT "id", _key, "state" FROM "Job" WHERE "id" = ANY($1)"#, [.texts(names.sorted())])
  }

  func named(_ result: QueryResult) -> [String: NamedJob] {
    var known: [String: NamedJob] = [:]
    for row in 0..<result.rowCount {
      known[result.text(row, 0)] = NamedJob(
        id: id(result.integer(row, 1)), state: Self.state(result.text(row, 2)))
    }
    return known
  }

  /// The arguments of a job that an order names alone: an edit is made of those that somebody has seen.
  static let orderedArguments = #"CASE WHEN cardinality(o.keys) = 1 THEN j."arguments" END"#

  /// A job that an order names, with ``orderedArguments`` behind its own columns.
  func orderedJob(_ result: QueryResult, _ row: Int, from first: Int) -> FleetJob {
    var job = job(result, row, from: first)
    if let text = result.textIfPresent(row, first + Self.columnCount), let read = try? JSONValue(parsing: text.utf8) {
      job.specification.arguments = read
    }
    return job
  }

  // MARK: For those who admit jobs and wait for their ends

  static func records(of ids: [ManagedObjectID]) -> Request {
    Request(
      #"SELECT _key, "id", "state", "failure", "type", "batch", "host" IS NULL FROM "Job" WHERE _key = ANY($1)"#,
      [.keys(ids.map(\.key))])
  }

  func records(_ result: QueryResult) -> [ManagedObjectID: RecordedJob] {
    var recorded: [ManagedObjectID: RecordedJob] = [:]
    for row in 0..<result.rowCount {
      let id = id(result.integer(row, 0))
      let job = FinishedJob(
        objectID: id, id: result.text(row, 1), type: result.text(row, 4), state: Self.state(result.text(row, 2)),
        failure: result.textIfPresent(row, 3), batch: result.textIfPresent(row, 5), file: nil)
      recorded[id] = RecordedJob(job: job, isByLead: result.integer(row, 6) == 1)
    }
    return recorded
  }

  static func known(_ names: [String]) -> Request {
    Request(
      """
      SELECT _key, "id", "state", "failure", "submitter", "type", "arguments", "file", "spool", "options", "place" \
      FROM "Job" WHERE "id" = ANY($1)
      """, [.texts(names)])
  }

  func known(_ result: QueryResult) -> [KnownJob] {
    (0..<result.rowCount).map { row in
      KnownJob(
        id: id(result.integer(row, 0)), name: result.text(row, 1), state: Self.state(result.text(row, 2)),
        failure: result.textIfPresent(row, 3), submitter: result.integer(row, 4), type: result.text(row, 5),
        arguments: result.text(row, 6), file: result.textIfPresent(row, 7), spool: result.textIfPresent(row, 8),
        options: result.textIfPresent(row, 9), place: result.textIfPresent(row, 10))
    }
  }

  /// A state that somebody has made unreadable keeps its job from running.
  static func state(_ name: String) -> JobState { JobState(rawValue: name) ?? .held }
}
