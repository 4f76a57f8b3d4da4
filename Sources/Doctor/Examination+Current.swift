import Foundation
import JSONText
import SQLiteStore
import SystemSupport

/// The files in `cur/`: each belongs to an unfinished job.
extension Examination {
  mutating func examineCurrent(_ names: [FileName], _ inspection: StoreInspection) throws {
    let names = names.filter { !$0.isHidden }
    if names.isEmpty { return }
    let unfinished = Set(
      try inspection.rows("SELECT DISTINCT file FROM Job WHERE state NOT IN (\(Self.final)) AND file IS NOT NULL")
        .compactMap { $0.first ?? nil })
    var waiting = 0
    for name in names where !unfinished.contains(name.description) {
      guard try isSettled(name, in: "cur") else { continue }
      let states = try states(ofJobsIn: name, inspection)
      // It repeats a job that came with another file.
      if states.contains(where: { !Self.finalStates.contains($0) }) { continue }
      if !isRunning {
        waiting += 1
      } else if states.isEmpty {
        report.find(
          "file-without-job", path(name, "cur"), "no job in the store belongs to this file",
          action: "restart the daemon, which takes it up")
      } else {
        report.find(
          "file-of-finished-job", path(name, "cur"),
          "its jobs are over (\(Set(states).sorted().joined(separator: ", "))), and it should be gone",
          action: "see \"journalctl -u bobbind\" for what kept it; the next start of the daemon removes it")
      }
    }
    if waiting > 0 {
      report.notes.append(
        "\(waiting) files in \(spool)/cur will be taken up or removed by the next start of the daemon")
    }
  }

  /// The states of the jobs that a file holds, as far as the store knows them.
  private func states(ofJobsIn name: FileName, _ inspection: StoreInspection) throws -> [String] {
    let ids = jobIDs(in: name).map(StoreInspection.literal)
    var states = try inspection.rows("SELECT state FROM Job WHERE file = \(StoreInspection.literal(name.description))")
    for start in stride(from: 0, to: ids.count, by: 500) {
      let part = ids[start..<min(start + 500, ids.count)].joined(separator: ", ")
      states += try inspection.rows("SELECT state FROM Job WHERE id IN (\(part))")
    }
    return states.compactMap { $0.first ?? nil }
  }

  /// The IDs in a job file; none if it can't be read, which the daemon reports.
  private func jobIDs(in name: FileName) -> [String] {
    guard let file = try? Directory(path: spool + "/cur").openFile(name), let data = try? file.readAll(limit: 64 << 20),
      let value = try? JSONValue(parsing: Array(data), dialect: .json5)
    else { return [] }
    let jobs = (value["jobs"]?.array ?? [value]) + (value["callback"].map { [$0] } ?? [])
    return jobs.compactMap { $0["id"]?.string }
  }
}
