import Fleet
import Jobs
import PostgresStore
import SQLGeneration
import StoreInterface

/// Other specifications and arguments for known jobs, and news of these jobs.
extension JobRows {
  // MARK: Replacing

  /// - Parameter changes: replacements of different jobs.
  static func replace(_ changes: [JobChange]) -> [Request] {
    let replaced = changes.compactMap { change in
      if case .replaced(let new, let isHeld) = change.kind { (new: new, isHeld: isHeld) } else { nil }
    }
    let keys = SQLBinding.keys(replaced.map(\.new.job.key))
    let attempts = SQLBinding.keys(replaced.map(\.new.attemptKey))
    return [continueRuns(keys), keepRuns(keys, attempts), write(replaced)] + announce(changes)
  }

  private static let ended = """
    "finishedAt" = j."finishedAt", "outcome" = j."state", "failure" = j."failure", "result" = j."result", \
    "arguments" = j."arguments"
    """

  /// Keeps the ends of jobs that are over with their last attempts, where these have records.
  private static func continueRuns(_ keys: SQLBinding) -> Request {
    Request(
      """
      UPDATE "Attempt" AS a SET \(ended), _version = a._version + 1 FROM "Job" AS j \
      WHERE j._key = ANY($1) AND j."state" IN (\(finalStates)) AND a."job" = j._key AND a."number" = j."attempt" \
      AND a."arguments" IS NULL
      """, [keys])
  }

  private static func keepRuns(_ keys: SQLBinding, _ attempts: SQLBinding) -> Request {
    Request(
      """
      INSERT INTO "Attempt" (_key, _version, "job", "number", "startedAt", "finishedAt", "outcome", "failure", "result", \
      "arguments") SELECT n.attempt, 1, j._key, j."attempt", j."startedAt", j."finishedAt", j."state", j."failure", \
      j."result", j."arguments" FROM unnest($1, $2) AS n (job, attempt) JOIN "Job" AS j ON j._key = n.job \
      WHERE j."state" IN (\(finalStates)) AND j."attempt" > 0 \
      AND NOT EXISTS (SELECT 1 FROM "Attempt" AS a WHERE a."job" = j._key AND a."number" = j."attempt")
      """, [keys, attempts])
  }

  private static func write(_ replaced: [(new: JobReplacement, isHeld: Bool)]) -> Request {
    var integers = [ArrayParameter](repeating: ArrayParameter(.integer), count: 3)
    var texts = [ArrayParameter](repeating: ArrayParameter(.text), count: 7)
    var dues = ArrayParameter(.real)
    for (new, isHeld) in replaced {
      let specification = new.specification
      let numbers = [new.job.key, Int64(specification.priority), Int64(specification.maxAttempts ?? 1)]
      for (place, number) in numbers.enumerated() { integers[place].append(number) }
      let values = [
        specification.type, specification.queue, (isHeld ? JobState.held : .available).rawValue,
        specification.arguments.serialized(), specification.batch, specification.options, new.place,
      ]
      for (place, value) in values.enumerated() {
        texts[place].append(value)
      }
      dues.append(specification.notBefore?.timeIntervalSinceReferenceDate)
    }
    var parameters = Parameters()
    for array in integers + texts + [dues] { parameters.add(array) }
    parameters.add(Int64(replaced.count))
    return Request(
      """
      WITH noted AS (UPDATE "Job" AS j SET "priority" = n.priority, "maxAttempts" = j."attempt" + n.most, \
      "type" = n.type, "queue" = n.queue, "state" = n.state, "arguments" = n.arguments, "batch" = n.batch, \
      "options" = n.options, "place" = n.place, "dueAt" = n.due, "createdAt" = \(now), "crashes" = 0, "startedAt" = NULL, \
      "finishedAt" = NULL, "failure" = NULL, "result" = NULL, "cursor" = NULL, "stopEvent" = NULL, "stopReason" = NULL, \
      _version = j._version + 1 FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
      AS n (key, priority, most, type, queue, state, arguments, batch, options, place, due) \
      WHERE j._key = n.key RETURNING 1) \
      SELECT \(LedgerStatements.demand("count(*) = $12", .contradiction)) FROM noted
      """, parameters)
  }

  // MARK: Editing

  /// - Parameter changes: new arguments of different jobs.
  static func edit(_ changes: [JobChange]) -> [Request] {
    var texts = [ArrayParameter](repeating: ArrayParameter(.text), count: 2)
    for change in changes {
      guard case .edited(let new) = change.kind else { continue }
      texts[0].append(new.arguments.serialized())
      texts[1].append(new.place)
    }
    var parameters = Parameters([.keys(changes.map(\.job.key))])
    for array in texts { parameters.add(array) }
    parameters.add(Int64(changes.count))
    let write = Request(
      """
      WITH noted AS (UPDATE "Job" AS j SET "arguments" = n.arguments, "place" = n.place, _version = j._version + 1 \
      FROM unnest($1, $2, $3) AS n (key, arguments, place) WHERE j._key = n.key RETURNING 1) \
      SELECT \(LedgerStatements.demand("count(*) = $4", .contradiction)) FROM noted
      """, parameters)
    return [write] + announce(changes)
  }

  // MARK: News

  /// Drops the inputs that came with jobs, which now name others, and has the lead admit these jobs anew.
  private static func announce(_ changes: [JobChange]) -> [Request] {
    [
      InputRows.drop(of: changes.map(\.job)),
      Request("INSERT INTO _inbox (kind, keys) VALUES ('admitted', $1)", [.keys(changes.map(\.job.key))]),
    ]
  }
}
