import Foundation
import SQLiteStore
import SystemSupport

extension Examination {
  /// Examines the records of jobs, the files that they came in, and the files of large values.
  mutating func examineStore(_ current: [FileName]) throws {
    guard FileManager.default.fileExists(atPath: store) else {
      report.notes.append("there is no store yet: \(store)")
      return
    }
    let inspection = try StoreInspection(path: store, isInUse: isRunning)
    for row in try inspection.rows("PRAGMA integrity_check") {
      if let problem = row.first ?? nil, problem != "ok" {
        report.find(
          "damage", store, problem,
          action: "stop the daemon, keep a copy, and restore a backup or what \"sqlite3 .recover\" finds")
      }
    }
    // Before the names that rows have: a file is there before its row.
    let files = largeValueFiles()
    try examineRecords(inspection)
    try examineCurrent(current, inspection)
    try examineLargeValues(files, inspection)
  }

  private mutating func examineRecords(_ inspection: StoreInspection) throws {
    report.jobs = try inspection.rows("SELECT count(*) FROM Job").first?.first?.flatMap { Int($0) } ?? 0
    let pictures = "SELECT count(*) FROM Job WHERE type = 'image.encode' AND state NOT IN (\(Self.final))"
    unfinishedPictures = try inspection.rows(pictures).first?.first?.flatMap { Int($0) } ?? 0
    for check in RecordCheck.all {
      for row in try inspection.rows(check.query) {
        report.find(
          check.code, "job \(displayName((row.first ?? nil) ?? "without an ID"))",
          check.problem
            + (row.count > 1 ? " (\(row.dropFirst().map { displayName($0 ?? "none") }.joined(separator: ", ")))" : ""),
          action: check.action)
      }
    }
    if isRunning { return }
    let unfinished = try inspection.rows("SELECT count(*) FROM Job WHERE state NOT IN (\(Self.final))")
    if let count = unfinished.first?.first ?? nil, count != "0" {
      report.notes.append("\(count) jobs are not over; the next start of the daemon takes them up")
    }
  }

  // MARK: Large values

  private var largeValueFolder: String { StoreInspection.largeValueFolder(ofStoreAt: store) }

  private func largeValueFiles() -> [String] {
    // No folder, no large values.
    ((try? FileManager.default.contentsOfDirectory(atPath: largeValueFolder)) ?? []).filter { $0 != "staging" }
  }

  private mutating func examineLargeValues(_ files: [String], _ inspection: StoreInspection) throws {
    let named = try inspection.largeValueNames()
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
          "orphaned-value", path, "no row refers to this file of a large value",
          action: "restart the daemon, which removes it; if it comes back, tell its developers")
      }
    }
    if !isRunning && orphans > 0 {
      report.notes.append("\(orphans) files of large values have no row; the next start of the daemon removes them")
    }
    for name in named.sorted() {
      let size = name.split(separator: ".").last.flatMap { Int64($0) }
      let found = (try? Directory(path: largeValueFolder).status(of: FileName(name)))?.size
      if found != nil && found == size { continue }
      // Its row may be gone by now, and the file after it.
      if isRunning, try !inspection.largeValueNames().contains(name) { continue }
      report.find(
        "lost-value", largeValueFolder + "/" + displayName(name),
        found.map { "the file of a large value has \($0) bytes, not \(size ?? -1)" }
          ?? "the file of a large value is missing, though a row refers to it",
        action: "restore it from a backup, or delete the object")
    }
  }
}
