package import Fleet
package import Foundation
package import Jobs
import PostgresStore
import SQLGeneration
package import StoreInterface

/// The removal of final jobs.
extension JobRows {
  /// The jobs whose files may still lie in a spool: its host has not acted on their ends.
  ///
  /// Each finds an index: on a connection that searches by index the server takes a plan with a whole table for so costly that
  /// it compiles it, for half a second.
  private static let unreleased = "SELECT unnest(jobs) FROM _outcome WHERE number > 0"
  private static let ordered = "SELECT unnest(keys) FROM _order WHERE host > 0 AND answer IS NULL"

  private static func seconds(_ date: Date) -> Double { date.timeIntervalSinceReferenceDate }

  /// Finds final jobs of a state whose files are gone, those first that ended first: in the order of the index.
  ///
  /// - Parameters:
  ///   - date: only jobs that ended before it.
  ///   - count: the number of jobs to be passed over.
  ///   - limit: how many at most.
  static func final(_ state: JobState, endedBefore date: Date, skipping count: Int, limit: Int) -> Request {
    Request(
      """
      SELECT j._key, j."id", j."finishedAt" FROM "Job" AS j WHERE j."state" = $1 AND j."finishedAt" < $2 \
      AND j._key NOT IN (\(unreleased)) ORDER BY j."finishedAt" NULLS FIRST LIMIT $3 OFFSET $4
      """, [.text(state.rawValue), .double(seconds(date)), .integer(limit), .integer(count)])
  }

  /// Finds the end of the job of a state that ended first since a date.
  static func firstEnd(_ state: JobState, from date: Date) -> Request {
    Request(
      #"SELECT min("finishedAt") FROM "Job" WHERE "state" = $1 AND "finishedAt" >= $2"#,
      [.text(state.rawValue), .double(seconds(date))])
  }

  /// Deletes jobs and what belongs to them, as the model's delete rules would; answers the jobs, a row each.
  static func remove(_ jobs: [FinalJob]) -> Request {
    // By what it must not be: no plan finds these jobs by the index of states, which has a million others.
    let kept = JobState.allCases.filter { !$0.isFinal || $0 == .quarantined }
    let states = kept.map { "'\($0.rawValue)'" }.joined(separator: ", ")
    let parts = dependents.map { entity in
      ", \(entity.lowercased()) AS (DELETE FROM \"\(entity)\" AS d USING gone AS g WHERE d.\"job\" = g._key)"
    }
    return Request(
      """
      WITH gone AS (DELETE FROM "Job" AS j WHERE j._key = ANY($1) AND j."state" NOT IN (\(states)) \
      AND NOT EXISTS (SELECT 1 FROM _run AS r WHERE r.job = j._key) \
      AND j._key NOT IN (\(ordered)) \
      AND j._key NOT IN (\(unreleased)) RETURNING j._key)\(parts.joined()), \
      input AS (DELETE FROM _input AS d USING gone AS g WHERE d.job = g._key), \
      loss AS (DELETE FROM _loss AS d USING gone AS g WHERE d.job = g._key) SELECT _key FROM gone
      """, [.keys(jobs.map(\.id.key).sorted())])
  }

  /// The entities whose rows go with their job; none of them has large values or dependents of its own.
  static let dependents = ["Attempt", "ImportState", "ImportReject"]

  // MARK: The time up to which removal believes the clock

  private static let beliefKey = "retention"

  static let believed = Request("SELECT value::bigint FROM _metadata WHERE key = '\(beliefKey)'")

  static func believe(_ time: Int64) -> Request {
    Request(
      """
      INSERT INTO _metadata AS m (key, value) VALUES ('\(beliefKey)', $1::bigint::text) \
      ON CONFLICT (key) DO UPDATE SET value = greatest(m.value::bigint, excluded.value::bigint)::text
      """, [.integer(time)])
  }
}

extension PostgresLedger {
  /// A final job, and when it ended.
  package typealias Ended = (job: FinalJob, end: Date)

  /// Finds final jobs of a state whose files are gone, those first that ended first.
  ///
  /// - Parameters:
  ///   - date: only jobs that ended before it.
  ///   - count: the number of jobs to be passed over.
  ///   - limit: how many at most.
  package func finalJobs(
    _ state: JobState, endedBefore date: Date, skipping count: Int, limit: Int
  ) throws(StoreError) -> [Ended] {
    try apart { (transaction) throws(StoreError) in
      let request = JobRows.final(state, endedBefore: date, skipping: count, limit: limit)
      let found = try transaction.connection.pipeline([request])[0]
      return (0..<found.rowCount).map { row in
        let job = FinalJob(id: transaction.jobs.id(found.integer(row, 0)), name: found.text(row, 1))
        return (job, Date(timeIntervalSinceReferenceDate: found.real(row, 2)))
      }
    }
  }

  /// The end of the job of a state that ended first since a date; nil if there is none.
  package func firstEnd(_ state: JobState, from date: Date) throws(StoreError) -> Date? {
    try apart { (transaction) throws(StoreError) in
      let found = try transaction.connection.pipeline([JobRows.firstEnd(state, from: date)])[0]
      return found.isNull(0, 0) ? nil : Date(timeIntervalSinceReferenceDate: found.real(0, 0))
    }
  }

  /// The latest time that the removal of jobs has believed, in milliseconds since 1970; nil if none has looked.
  package func believedTime() throws(StoreError) -> Int64? {
    try apart { (transaction) throws(StoreError) in
      let found = try transaction.connection.pipeline([JobRows.believed])[0]
      return found.rowCount == 0 ? nil : found.integer(0, 0)
    }
  }

  /// Remembers a time that is believed, unless a later one is.
  package func believe(_ time: Int64) throws(StoreError) {
    try apart { (transaction) throws(StoreError) in
      _ = try transaction.connection.pipeline([JobRows.believe(time)])
    }
  }
}
