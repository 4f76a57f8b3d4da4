import Jobs
import PostgresStore
import SQLGeneration
import StoreInterface

/// The spools that jobs belong to and are bound to, where these change: a fleet begins, or a host goes for good.
extension JobRows {
  // MARK: The jobs of a store that was copied

  /// Counts the files of unfinished jobs that came to no spool of a fleet, and those among them that are not claimed, of
  /// which it names some, a row each.
  static func filesOfOwnerless(besides claimed: [String]) -> Request {
    Request(
      """
      WITH file AS (SELECT DISTINCT j."file" AS name FROM "Job" AS j WHERE j."state" NOT IN (\(finalStates)) \
      AND j."spool" IS NULL AND j."file" IS NOT NULL), \
      missing AS (SELECT f.name FROM file AS f WHERE NOT EXISTS (SELECT 1 FROM unnest($1) AS c (name) WHERE c.name = f.name)) \
      SELECT (SELECT count(*) FROM file), (SELECT count(*) FROM missing), m.name \
      FROM (SELECT 1) AS one LEFT JOIN (SELECT name FROM missing ORDER BY name LIMIT 5) AS m ON true ORDER BY m.name
      """, [.texts(claimed)])
  }

  /// Gives unfinished jobs a spool, if they have none, and their spool as their place; attempts that were cut short are
  /// made up for, unless the job was told to end. One that has left rows behind is reverted by a host first.
  static func adopt(_ spool: String) -> Request {
    let state = """
      CASE WHEN j."state" <> 'running' THEN j."state" \
      WHEN j."stopEvent" IS NULL OR j."cursor" IS NOT NULL THEN 'available' \
      WHEN j."stopEvent" = 'held' THEN 'held' ELSE 'cancelled' END
      """
    // As `FleetPlace` writes it.
    let offered = #"CASE WHEN j."options" LIKE '%"place":%' THEN j."options"::json ->> 'place' || ' at ' END"#
    let place = "coalesce(\(offered), '') || coalesce(j.\"spool\", $1)"
    return Request(
      """
      UPDATE "Job" AS j SET "spool" = coalesce(j."spool", $1), "place" = \(place), "state" = a.state, \
      "finishedAt" = \(finished("a.state")), _version = j._version + 1, \
      "failure" = CASE WHEN a.state = 'cancelled' THEN coalesce(j."stopReason", j."failure") ELSE j."failure" END, \
      "dueAt" = CASE WHEN j."state" = 'running' THEN NULL ELSE j."dueAt" END, \
      "maxAttempts" = j."maxAttempts" \
      + CASE WHEN j."state" = 'running' AND j."attempt" < \(lossLimit) THEN 1 ELSE 0 END \
      FROM (SELECT j._key AS job, \(state) AS state FROM "Job" AS j WHERE j."state" NOT IN (\(finalStates))) AS a \
      WHERE j._key = a.job
      """, [.text(spool)])
  }

  /// Gives jobs other places.
  static func setPlaces(_ places: [(job: ManagedObjectID, place: String?)]) -> Request {
    var names = ArrayParameter(.text)
    for (_, place) in places { names.append(place) }
    var parameters = Parameters([.keys(places.map(\.job.key))])
    parameters.add(names)
    return Request(
      """
      UPDATE "Job" AS j SET "place" = p.place, _version = j._version + 1 \
      FROM unnest($1, $2) AS p (job, place) WHERE j._key = p.job
      """, parameters)
  }

  /// Moves the pauses of a host that was alone, and the starts that count for rates, to where a fleet has them.
  static let adoptRecords = [
    Request(#"INSERT INTO _pause (kind, name) SELECT "kind", "name" FROM "Pause" ON CONFLICT DO NOTHING"#),
    Request(#"DELETE FROM "Pause""#),
    Request(
      """
      INSERT INTO _start (kind, name, count, started, until) SELECT "kind", "name", 1, \
      \(moment(#""startedAt""#)), \(moment(#""until""#)) FROM "RateStart" WHERE "until" > \(now) AND "startedAt" IS NOT NULL
      """),
    Request(#"DELETE FROM "RateStart""#),
  ]

  /// The moment of a date as a store has it.
  private static func moment(_ column: String) -> String { "to_timestamp(\(column) + \(Int(dateOffset)))" }

  // MARK: The jobs of a host that is removed

  /// The condition for jobs that only the host of the root `$1` can run.
  private static let isAt = """
    j."place" IS NOT NULL AND (j."place" = $1 OR right(j."place", length($1) + 4) = ' at ' || $1)
    """
  private static let isBound = "j.\"state\" NOT IN (\(finalStates)) AND \(isAt)"

  static func countBound(to root: String) -> Request {
    Request("SELECT count(*) FROM \"Job\" AS j WHERE \(isBound)", [.text(root)])
  }

  /// Has any host that offers what else they ask for run the jobs of a root, also those that are put back later, or cancels
  /// the unfinished ones; one that has left rows behind is reverted by a host first.
  static func unbind(from root: String, cancelling isCancelling: Bool) -> [Request] {
    let place = "CASE WHEN j.\"place\" = $1 THEN NULL ELSE left(j.\"place\", -length($1) - 4) END"
    let free = Request(
      "UPDATE \"Job\" AS j SET \"place\" = \(place), _version = _version + 1 WHERE \(isAt)", [.text(root)])
    if !isCancelling { return [free] }
    let (isPartial, reason) = ("j.\"cursor\" IS NOT NULL", "'the host ' || $1 || ' was removed, where its input lay'")
    let told = told(
      event: "CASE WHEN \(isPartial) THEN 'cancelled' END", reason: "CASE WHEN \(isPartial) THEN \(reason) END")
    let cancel = Request(
      """
      WITH ended AS (UPDATE "Job" AS j SET "place" = \(place), _version = _version + 1, \
      "state" = CASE WHEN \(isPartial) THEN j."state" ELSE 'cancelled' END, \
      "finishedAt" = CASE WHEN \(isPartial) THEN NULL ELSE \(now) END, \
      "failure" = CASE WHEN \(isPartial) THEN j."failure" ELSE \(reason) END, \(told) \
      WHERE \(isBound) RETURNING j._key, j."spool", j."state") \
      INSERT INTO _outcome (spool, jobs) SELECT "spool", array_agg(_key ORDER BY _key) FROM ended \
      WHERE "state" = 'cancelled' AND "spool" IS NOT NULL AND "spool" <> $1 GROUP BY "spool"
      """, [.text(root)])
    return [cancel, free]
  }

  /// Has the unfinished jobs of a spool belong to none, which would have to be told of their ends.
  static func leaveSpool(_ root: String) -> Request {
    Request(
      """
      UPDATE "Job" AS j SET "spool" = NULL, "file" = NULL, _version = _version + 1 \
      WHERE j."state" NOT IN (\(finalStates)) AND j."spool" = $1
      """, [.text(root)])
  }
}
