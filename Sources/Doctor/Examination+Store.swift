import Foundation
import SystemSupport

extension Examination {
  /// Examines the records of jobs, the files that they came in, and the files of large values.
  mutating func examineStore(_ current: [FileName]) throws {
    if isOfFleet {
      report.notes.append(
        "the jobs are in a database, of which PostgreSQL's own tools (pg_amcheck) tell whether it is sound; only this "
          + "host's files were looked at")
      return
    }
    guard FileManager.default.fileExists(atPath: store) else {
      report.notes.append("there is no store yet: \(store)")
      return
    }
    let reader = try StoreReader(path: store, isInUse: isRunning)
    for row in try reader.rows("PRAGMA integrity_check") {
      if let problem = row.first ?? nil, problem != "ok" {
        report.find(
          "damage", store, problem: problem,
          action: "stop the daemon, keep a copy, and restore a backup or what \"sqlite3 .recover\" finds")
      }
    }
    // Before the names that rows have: a file is there before its row.
    let files = largeValueFiles()
    try examineRecords(reader)
    try examineCurrent(current, reader)
    try examineLargeValues(files, reader)
  }

  private mutating func examineRecords(_ reader: StoreReader) throws {
    report.jobs = try reader.count("SELECT count(*) FROM Job")
    let pictures = "SELECT count(*) FROM Job WHERE type = 'image.encode' AND state NOT IN (\(Self.final))"
    unfinishedPictures = try reader.count(pictures)
    for check in RecordCheck.all {
      for row in try reader.rows(check.query) {
        report.find(
          check.code, "job \(displayName((row.first ?? nil) ?? "without an ID"))",
          problem: check.problem
            + (row.count > 1 ? " (\(row.dropFirst().map { displayName($0 ?? "none") }.joined(separator: ", ")))" : ""),
          action: check.action)
      }
    }
    if isRunning { return }
    let unfinished = try reader.count("SELECT count(*) FROM Job WHERE state NOT IN (\(Self.final))")
    if unfinished > 0 {
      report.notes.append("the next start of the daemon resumes \(counted(unfinished, "unfinished job"))")
    }
  }

  // MARK: Large values

  private var largeValueFolder: String { StoreReader.largeValueFolder(ofStoreAt: store) }

  private func largeValueFiles() -> [String] {
    // No folder, no large values.
    ((try? FileManager.default.contentsOfDirectory(atPath: largeValueFolder)) ?? []).filter { $0 != "staging" }
  }

  private mutating func examineLargeValues(_ files: [String], _ reader: StoreReader) throws {
    let named = try reader.largeValueNames()
    report.files += files.count
    var orphans = 0
    for name in files.sorted() where !named.contains(name) {
      let path = largeValueFolder + "/" + displayName(name)
      guard let folder = try? Directory(path: largeValueFolder),
        let status = try? folder.status(of: FileName(name)), status.changeTime < newest
      else { continue }
      orphans += 1
      if isRunning {
        report.find(
          "orphaned-value", path, problem: "no row refers to this file of a large value",
          action: "restart the daemon, which removes it; if it comes back, tell its developers")
      }
    }
    if !isRunning && orphans > 0 {
      report.notes.append("the next start of the daemon removes \(counted(orphans, "large value")) without a row")
    }
    for name in named.sorted() {
      let size = name.split(separator: ".").last.flatMap { Int64($0) }
      let found = (try? Directory(path: largeValueFolder).status(of: FileName(name)))?.size
      if found != nil && found == size { continue }
      // Its row may be gone by now, and the file after it.
      if isRunning, try !reader.largeValueNames().contains(name) { continue }
      report.find(
        "lost-value", largeValueFolder + "/" + displayName(name),
        problem: found.map { "the file of a large value has \($0) bytes, not \(size ?? -1)" }
          ?? "the file of a large value is missing, though a row refers to it",
        action: "restore it from a backup, or delete the object")
    }
  }
}

/// A query that returns no rows on a sound store; the first column is a job's ID, the others are details.
struct RecordCheck {
  let code: String
  let problem: String
  let query: String
  let action: String

  private static let redo = "look at it with \"bobbinctl show\", then cancel or retry it"
  private static let report = "somebody has edited the record, or this is a bug: keep a copy of the store and report it"
  private static let unfinished = "state NOT IN (\(Examination.final))"
  private static let states = Examination.states.map { "'\($0)'" }.joined(separator: ", ")

  static let all = [
    RecordCheck(
      code: "two-outcomes", problem: "it is recorded more than once",
      query: "SELECT id, count(*) || ' records' FROM Job GROUP BY id HAVING count(*) > 1", action: report),
    RecordCheck(
      code: "unknown-state", problem: "its state is one that this version does not know",
      query: "SELECT id, state FROM Job WHERE state NOT IN (\(states))",
      action: "use the version that wrote it; this one holds such a job"),
    RecordCheck(
      code: "end-without-time", problem: "it is finished, but has no time of its end",
      query: "SELECT id, state FROM Job WHERE state IN (\(Examination.final)) AND finishedAt IS NULL", action: report),
    RecordCheck(
      code: "time-without-end", problem: "it is unfinished, but has a time of its end",
      query: "SELECT id, state FROM Job WHERE \(unfinished) AND finishedAt IS NOT NULL", action: redo),
    RecordCheck(
      code: "attempts", problem: "it has had more attempts than it may",
      query: "SELECT id, attempt || ' of ' || maxAttempts FROM Job WHERE attempt > maxAttempts OR attempt < 0",
      action: report),
    RecordCheck(
      code: "attempts", problem: "an attempt is recorded that never began",
      query:
        "SELECT j.id, a.number FROM Attempt AS a JOIN Job AS j ON a.job = j._key WHERE a.number > j.attempt OR a.number < 1",
      action: report),
    RecordCheck(
      code: "attempts", problem: "an attempt is recorded twice",
      query:
        "SELECT j.id, a.number FROM Attempt AS a JOIN Job AS j ON a.job = j._key GROUP BY j._key, a.number HAVING count(*) > 1",
      action: report),
    RecordCheck(
      code: "attempts", problem: "an attempt belongs to no job",
      query: "SELECT 'number ' || _key FROM Attempt WHERE job IS NULL OR job NOT IN (SELECT _key FROM Job)",
      action: "delete its row"),
    RecordCheck(
      code: "crashes", problem: "it has crashed so often that it should be quarantined",
      query: "SELECT id, crashes || ' crashes' FROM Job WHERE crashes >= 3 AND \(unfinished)", action: redo),
    RecordCheck(
      code: "crashes", problem: "it has crashed more often than it was started",
      query: "SELECT id, crashes || ' crashes in ' || attempt FROM Job WHERE crashes > attempt OR crashes < 0",
      action: report),
    RecordCheck(
      code: "half-done", problem: "it is completed, but has a cursor or a failure",
      query: "SELECT id FROM Job WHERE state = 'completed' AND (cursor IS NOT NULL OR failure IS NOT NULL)",
      action: report),
    RecordCheck(
      code: "no-due-time", problem: "it is retryable, but has no time of its next attempt",
      query: "SELECT id FROM Job WHERE state = 'retryable' AND dueAt IS NULL", action: redo),
    RecordCheck(
      code: "unique", problem: "another unfinished job has the same unique key",
      query: """
        SELECT min(id), json_extract(options, '$.unique') AS key FROM Job
        WHERE \(unfinished) AND options IS NOT NULL AND json_valid(options) AND key IS NOT NULL
        GROUP BY key HAVING count(*) > 1
        """, action: "cancel one of them"),
  ]
}
