import Fleet
import Foundation
import JobSchedule
import Jobs
import ObjectModel
import PostgresStore
import SQLGeneration
import StoreInterface

/// The rows of the entity Job, which the store keeps: jobs are admitted and read there, and their states are written.
///
/// Each change raises the version of its row, so that contexts notice it.
struct JobRows: Sendable {
  let entity: Entity
  private let coordinatorOrdinal: UInt32

  /// The loss with its host from which on an attempt is not made up for, so that a job that ends its host itself does
  /// not do so for ever.
  static let lossLimit = 100
  /// The seconds from 1970 to the beginning of a date's count.
  static let dateOffset: Double = Date.timeIntervalBetween1970AndReferenceDate
  static let now = "extract(epoch FROM now())::float8 - \(Int(dateOffset))"
  static let finalStates = JobState.allCases.filter(\.isFinal).map { "'\($0.rawValue)'" }.joined(
    separator: ", ")

  /// - Parameters:
  ///   - entity: the entity Job of the coordinator's model.
  ///   - coordinatorOrdinal: the ordinal that goes into the IDs of objects.
  init(_ entity: Entity, coordinatorOrdinal: UInt32) {
    self.entity = entity
    self.coordinatorOrdinal = coordinatorOrdinal
  }

  func id(_ key: Int64) -> ManagedObjectID {
    ManagedObjectID(key: key, entity: entity, coordinatorOrdinal: coordinatorOrdinal)
  }

  func run(_ result: QueryResult, _ row: Int) -> Run {
    Run(
      job: id(result.integer(row, 0)), host: Int(result.integer(row, 1)), attempt: Int(result.integer(row, 2)))
  }

  func runs(_ result: QueryResult) -> [Run] { (0..<result.rowCount).map { run(result, $0) } }

  /// The runs that are told to end, where their rows tell that.
  func stops(_ result: QueryResult) -> [RunStop] {
    (0..<result.rowCount).compactMap { row in
      result.textIfPresent(row, 3).flatMap(JobEvent.init).map {
        RunStop(run: run(result, row), event: $0, reason: result.textIfPresent(row, 4))
      }
    }
  }

  // MARK: Admission

  /// Inserts jobs whose IDs are new, and tells of them.
  static func admit(_ jobs: [FleetJob]) -> Request {
    var keys = ArrayParameter(.integer)
    var integers = [ArrayParameter](repeating: ArrayParameter(.integer), count: 4)
    var texts = [ArrayParameter](repeating: ArrayParameter(.text), count: 10)
    var dues = ArrayParameter(.real)
    for job in jobs {
      let specification = job.specification
      keys.append(job.id.key)
      let numbers = [
        Int64(specification.priority), Int64(job.attempt), Int64(specification.maxAttempts ?? 1), job.submitter,
      ]
      for (place, number) in numbers.enumerated() { integers[place].append(number) }
      let values = [
        job.name, specification.type, specification.queue, job.state.rawValue, specification.arguments.serialized(),
        job.file, specification.batch, specification.optionsOfFile, job.place, job.spool,
      ]
      for (place, value) in values.enumerated() {
        texts[place].append(value)
      }
      dues.append(due(job))
    }
    var parameters = Parameters()
    for array in [keys] + integers + texts + [dues] { parameters.add(array) }
    return Request(
      """
      WITH new AS (INSERT INTO "Job" (_key, _version, "priority", "attempt", "maxAttempts", "submitter", "id", "type", \
      "queue", "state", "arguments", "file", "batch", "options", "place", "spool", "dueAt", "createdAt", "crashes") \
      SELECT n.key, 1, n.priority, n.attempt, n.most, n.submitter, n.id, n.type, n.queue, n.state, n.arguments, n.file, \
      n.batch, n.options, n.place, n.spool, n.due, \(now), 0 \
      FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) WITH ORDINALITY \
      AS n (key, priority, attempt, most, submitter, id, type, queue, state, arguments, file, batch, options, place, \
      spool, due, turn) ORDER BY n.id, n.turn ON CONFLICT ("id") DO NOTHING RETURNING _key) \
      INSERT INTO _inbox (kind, keys) SELECT 'admitted', array_agg(_key ORDER BY _key) FROM new HAVING count(*) > 0
      """, parameters)
  }

  /// The date in the row: the time of the next attempt, or before the first one the moment to wait for.
  private static func due(_ job: FleetJob) -> Double? {
    job.retryTime.map(seconds) ?? job.specification.notBefore?.timeIntervalSinceReferenceDate
  }

  private static func seconds(_ time: Int64) -> Double { Double(time) / 1000 - dateOffset }

  // MARK: Reading

  /// The number of columns that ``job(_:_:from:)`` reads.
  static let columnCount = 19

  /// The columns that ``job(_:_:from:)`` reads, in their order.
  static func columns(of table: String) -> String {
    let names = [
      "_key", #""id""#, #""type""#, #""queue""#, #""priority""#, #""state""#, #""attempt""#, #""maxAttempts""#,
      #""createdAt""#, #""dueAt""#, #""batch""#, #""options""#, #""place""#, #""file""#, #""submitter""#, #""spool""#,
      #""stopEvent""#, #""stopReason""#,
    ]
    return names.map { "\(table).\($0)" }.joined(separator: ", ") + #", \#(table)."cursor" IS NOT NULL"#
  }

  /// The condition for the jobs that a schedule is made of: those that are unfinished, and those in quarantine that are
  /// being cancelled.
  private static let isScheduled = """
    (j."state" NOT IN (\(finalStates)) OR j."state" = '\(JobState.quarantined.rawValue)' \
    AND (j."stopEvent" IS NOT NULL OR EXISTS (SELECT 1 FROM _run AS r WHERE r.job = j._key)))
    """

  /// The keys of the jobs that a schedule is made of, in its order.
  ///
  /// - Parameter agingStep: the milliseconds of waiting that one step of priority is worth.
  static func scheduledKeys(agingStep: Int64) -> Request {
    Request(
      """
      SELECT j._key FROM "Job" AS j WHERE \(isScheduled) ORDER BY j."createdAt" - j."priority" * $1, j._key
      """, [.double(Double(agingStep) / 1000)])
  }

  /// Those of some jobs that a schedule is made of, in the order of their admission.
  static func scheduled(_ keys: [Int64]) -> Request {
    Request(
      """
      SELECT \(columns(of: "j")) FROM "Job" AS j WHERE j._key = ANY($1) AND \(isScheduled) \
      ORDER BY j."createdAt", j._key
      """, [.keys(keys)])
  }

  /// A job as its row tells it, without the arguments, which only its handler needs.
  ///
  /// - Parameter first: the first of its columns.
  func job(_ result: QueryResult, _ row: Int, from first: Int) -> FleetJob {
    func text(_ column: Int) -> String { result.text(row, first + column) }
    func optional(_ column: Int) -> String? { result.textIfPresent(row, first + column) }
    func integer(_ column: Int) -> Int64 { result.integer(row, first + column) }
    func date(_ column: Int) -> Double? { result.isNull(row, first + column) ? nil : result.real(row, first + column) }
    var specification = JobSpecification(
      type: text(2), id: text(1), queue: text(3), priority: Int(integer(4)), maxAttempts: Int(integer(7)))
    let plain = specification
    specification.batch = optional(10)
    // A record that somebody has made unreadable is reported when the job starts.
    if let options = optional(11), (try? specification.readOptions(options)) == nil { specification = plain }
    var job = FleetJob(
      id: id(integer(0)), name: text(1), specification: specification, place: optional(12),
      created: date(8).map(Self.milliseconds) ?? 0)
    job.state = JobRows.state(text(5))
    job.attempt = Int(integer(6))
    let due = date(9)
    if job.isBegun {
      job.retryTime = due.map(Self.milliseconds)
    } else {
      job.specification.notBefore = due.map { Date(timeIntervalSinceReferenceDate: $0) }
    }
    job.file = optional(13)
    job.submitter = integer(14)
    job.spool = optional(15)
    job.stop = optional(16).flatMap(JobEvent.init).map { ($0, optional(17)) }
    job.isPartial = integer(18) == 1
    return job
  }

  /// The milliseconds since 1970 of a date in the row.
  static func milliseconds(_ date: Double) -> Int64 {
    Int64(exactly: ((date + dateOffset) * 1000).rounded()) ?? .max
  }

  func jobs(_ result: QueryResult) -> [FleetJob] { (0..<result.rowCount).map { job(result, $0, from: 0) } }

  /// The names by which jobs name others.
  static func names(in jobs: some Sequence<FleetJob>) -> Set<String> {
    jobs.reduce(into: []) { $0.formUnion($1.names) }
  }

  /// Counts the unfinished jobs by state and what they ask of their host; one that is assigned counts as running, and one
  /// whose time has not come as scheduled.
  static let countUnfinished = Request(
    """
    SELECT CASE WHEN r.job IS NOT NULL THEN 'running' WHEN j."state" = 'available' AND j."dueAt" > \(now) THEN 'scheduled' \
    ELSE j."state" END, j."type", j."place", count(*) FROM "Job" AS j \
    LEFT JOIN _run AS r ON r.job = j._key WHERE j."state" NOT IN (\(finalStates)) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    """)

  // MARK: Changes

  /// Records the ends of attempts; one that was cut short through no fault of its own is made up for.
  static func record(_ ended: [EndedRun]) -> Request {
    var dues = ArrayParameter(.real)
    for one in ended { dues.append(one.retryTime.map(seconds)) }
    var parameters = Parameters([
      .keys(ended.map(\.run.job.key)), .integers(ended.map(\.run.attempt)),
      .texts(ended.map { (JobState.running.after($0.event) ?? .available).rawValue }),
    ])
    parameters.add(dues)
    parameters.add(Int64(ended.count))
    return Request(
      """
      WITH noted AS (UPDATE "Job" AS j SET "attempt" = e.attempt, "dueAt" = e.due, \
      "state" = CASE WHEN j."state" IN ('quarantined', 'held') AND e.state = 'available' THEN j."state" ELSE e.state END, \
      "finishedAt" = \(finished("e.state")), _version = j._version + 1, \
      "maxAttempts" = j."maxAttempts" + CASE WHEN e.state IN ('available', 'held') THEN 1 ELSE 0 END \
      FROM unnest($1, $2, $3, $4) AS e (job, attempt, state, due) WHERE j._key = e.job RETURNING 1) \
      SELECT \(LedgerStatements.demand("count(*) = $5", .contradiction)) FROM noted
      """, parameters)
  }

  /// Has jobs keep what their runs were told, until the lead has done it: it may die before.
  ///
  /// An order to replace a job stays on record itself; the job keeps only that it is held for that, unless somebody else
  /// has held it.
  static func keepStops(of ended: [EndedRun]) -> [Request] {
    let returned = ended.filter { $0.event == .interrupted || $0.event == .failed }.map(\.run.job.key)
    let held = ended.filter { $0.event == .held }.map(\.run.job.key)
    let toReplace = "r.stop = '\(JobEvent.interrupted.rawValue)'"
    func set(_ settings: String, of keys: [Int64], if condition: String) -> [Request] {
      let query = #"UPDATE "Job" AS j SET \#(settings) FROM _run AS r WHERE r.job = j._key AND r.job = ANY($1) AND "#
      return keys.isEmpty ? [] : [Request(query + condition, [.keys(keys)])]
    }
    let kept = told(event: "r.stop", reason: #"coalesce(r.reason, j."stopReason")"#)
    let heldForIt = told(event: "'\(JobEvent.held.rawValue)'", reason: "r.reason")
    let hasToEnd = "r.stop NOT IN ('\(JobEvent.interrupted.rawValue)', '\(JobEvent.held.rawValue)')"
    return set(kept, of: returned, if: "NOT \(toReplace)") + set(kept, of: held, if: hasToEnd)
      + set(heldForIt, of: held, if: #"\#(toReplace) AND j."state" <> 'held'"#)
  }

  /// The part of an order to a run that holds for its job: that it is to be replaced is told anew.
  private static func kept(_ column: String) -> String {
    "CASE WHEN stop <> '\(JobEvent.interrupted.rawValue)' THEN \(column) END"
  }

  static func finished(_ state: String) -> String {
    #"CASE WHEN \#(state) IN (\#(finalStates)) THEN \#(now) ELSE j."finishedAt" END"#
  }

  /// The settings of what a job is told; one that was given up keeps that end.
  static func told(event: String, reason: String) -> String {
    let isGivenUp = "j.\"stopEvent\" IS NOT DISTINCT FROM '\(JobEvent.gaveUp.rawValue)'"
    return """
      "stopEvent" = CASE WHEN \(isGivenUp) THEN j."stopEvent" ELSE \(event) END, \
      "stopReason" = CASE WHEN \(isGivenUp) THEN j."stopReason" ELSE \(reason) END
      """
  }

  /// Deletes the runs of hosts, and has their jobs wait again; answers the runs.
  ///
  /// - Parameter hosts: a query for the numbers of the hosts.
  static func deleteRuns(ofHosts hosts: String, _ values: [SQLBinding]) -> Request {
    Request(
      """
      WITH gone AS (DELETE FROM _run WHERE host IN (\(hosts)) RETURNING *), \
      lost AS (SELECT job, host, attempt, \(kept("stop")) AS stop, \(kept("reason")) AS reason FROM gone), \
      counted AS (INSERT INTO _loss AS c (job, count) SELECT job, 1 FROM lost \
      ON CONFLICT (job) DO UPDATE SET count = c.count + 1), \
      noted AS (UPDATE "Job" AS j SET "attempt" = l.attempt, _version = j._version + 1, \
      "state" = CASE WHEN j."state" = 'running' THEN 'available' ELSE j."state" END, \
      "dueAt" = CASE WHEN j."attempt" = 0 THEN NULL ELSE j."dueAt" END, \
      "maxAttempts" = j."maxAttempts" + CASE WHEN coalesce(c.count, 0) + 1 < \(lossLimit) THEN 1 ELSE 0 END, \
      \(told(event: "coalesce(l.stop, j.\"stopEvent\")", reason: "coalesce(l.reason, j.\"stopReason\")")) \
      FROM lost AS l LEFT JOIN _loss AS c ON c.job = l.job WHERE j._key = l.job) \
      SELECT job, host, attempt FROM lost ORDER BY job
      """, values)
  }
}
