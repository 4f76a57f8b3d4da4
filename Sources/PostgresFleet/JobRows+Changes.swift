import Fleet
import JobSchedule
import Jobs
import PostgresStore
import SQLGeneration
import TextSupport

/// Decisions of the lead, in the rows of their jobs.
extension JobRows {
  /// Records what the lead has decided, in its order; jobs that are deleted are left to ``remove(_:)``.
  static func record(_ changes: [JobChange]) -> [Request] {
    var requests: [Request] = []
    var rest = changes[...]
    while let first = rest.first {
      let same = rest.prefix { $0.kind.name == first.kind.name }
      rest = rest.dropFirst(same.count)
      // Of several for one job the last counts.
      let last = Dictionary(same.map { ($0.job.key, $0) }) { $1.behind($0) }.values.sorted { $0.job.key < $1.job.key }
      switch first.kind {
      case .replaced: requests += replace(last)
      case .edited: requests += edit(last)
      case .deleted: break
      case .state, .stop, .priority, .again: requests.append(record(alike: last))
      }
    }
    return requests
  }

  /// - Parameter changes: changes of one kind, of different jobs.
  private static func record(alike changes: [JobChange]) -> Request {
    var states = ArrayParameter(.text)
    var reasons = ArrayParameter(.text)
    var numbers = ArrayParameter(.integer)
    for change in changes {
      var (state, reason, number): (String?, String?, Int64?) = (nil, nil, nil)
      switch change.kind {
      case .state(let new, let cause):
        state = new.rawValue
        if case .text(let text)? = cause { reason = text }
        if case .end(let other)? = cause { number = other.key }
      case .stop(let event, let text): (state, reason) = (event.rawValue, text)
      case .priority(let priority): number = Int64(priority)
      case .again(let attempts, let specification): (number, reason) = (Int64(attempts), specification?.options)
      case .replaced, .edited, .deleted: continue
      }
      states.append(state)
      reasons.append(reason?.storable)
      numbers.append(number)
    }
    var parameters = Parameters([.keys(changes.map(\.job.key))])
    for array in [states, reasons, numbers] { parameters.add(array) }
    parameters.add(Int64(changes.count))
    let (settings, told) = changes.first.map { ($0.kind.settings, $0.kind.told) } ?? ("", "")
    return Request(
      """
      WITH noted AS (UPDATE "Job" AS j SET \(settings), _version = j._version + 1 \
      FROM unnest($1, $2, $3, $4) AS s (job, state, reason, number) LEFT JOIN "Job" AS c ON c._key = s.number \
      WHERE j._key = s.job RETURNING j._key, j."spool", s.state)\(told) \
      SELECT \(LedgerStatements.demand("count(*) = $5", .contradiction)) FROM noted
      """, parameters)
  }
}

extension JobChange {
  /// This change as one for both, behind another of its kind.
  fileprivate func behind(_ earlier: JobChange) -> JobChange {
    guard case .again(let attempts, nil) = kind, case .again(_, let specification) = earlier.kind else { return self }
    return JobChange(job, .again(attempts: attempts, specification))
  }
}

extension JobChange.Kind {
  /// Changes of one name are written by one statement.
  fileprivate var name: String {
    switch self {
    case .state: "state"
    case .stop: "stop"
    case .priority: "priority"
    case .again: "again"
    case .replaced: "replaced"
    case .edited: "edited"
    case .deleted: "deleted"
    }
  }

  /// The columns that it sets, of the rows `j`, `s` and, if another job is the reason, `c`.
  fileprivate var settings: String {
    switch self {
    case .state:
      """
      "state" = CASE WHEN s.state = 'available' AND j."attempt" > 0 AND j."dueAt" IS NOT NULL THEN 'retryable' \
      ELSE s.state END, "finishedAt" = \(JobRows.finished("s.state")), \
      "host" = CASE WHEN s.state IN (\(JobRows.finalStates)) THEN NULL ELSE j."host" END, "stopEvent" = NULL, "stopReason" = NULL, \
      "failure" = coalesce(s.reason, \(FinishedJob.reasonForOthers), j."failure")
      """
    case .stop: JobRows.told(event: "s.state", reason: "s.reason")
    case .priority: #""priority" = s.number"#
    // What checkpoints had saved was reverted when it was given up; in quarantine it is kept, to continue from.
    case .again:
      """
      "maxAttempts" = j."attempt" + s.number, "state" = 'available', "dueAt" = NULL, "crashes" = 0, \
      "options" = coalesce(s.reason, j."options"), \
      "stopEvent" = NULL, "stopReason" = NULL, \
      "cursor" = CASE WHEN \(JobRows.isOver) AND j."state" <> 'quarantined' THEN NULL ELSE j."cursor" END, \
      "failure" = \(JobRows.keptIfUnfinished("failure")), "result" = \(JobRows.keptIfUnfinished("result")), \
      "startedAt" = \(JobRows.keptIfUnfinished("startedAt")), "file" = \(JobRows.keptIfUnfinished("file")), \
      "finishedAt" = NULL
      """
    case .replaced, .edited, .deleted: ""
    }
  }

  /// Another statement: it tells the spools of jobs that are held or have ended.
  fileprivate var told: String {
    guard case .state = self else { return "" }
    return """
      , told AS (INSERT INTO _outcome (spool, jobs) SELECT "spool", array_agg(_key) FROM noted \
      WHERE "spool" IS NOT NULL AND state <> 'available' GROUP BY "spool")
      """
  }
}

extension JobRows {
  fileprivate static var isOver: String { #"j."state" IN (\#(finalStates))"# }

  fileprivate static func keptIfUnfinished(_ column: String) -> String {
    #"CASE WHEN \#(isOver) THEN NULL ELSE j."\#(column)" END"#
  }
}

extension FinishedJob {
  /// The reason for the cancellation of jobs that depend on the row `c`; null if there is none.
  fileprivate static let reasonForOthers = {
    // As for one host, with the values in their places.
    let words = reasonForOthers(of: "\u{1}", .completed).split(separator: "\u{1}", omittingEmptySubsequences: false)
    let end = words[1].dropLast(JobState.completed.rawValue.count)
    return "'\(words[0])' || c.\"id\" || '\(end)' || c.\"state\""
  }()
}
