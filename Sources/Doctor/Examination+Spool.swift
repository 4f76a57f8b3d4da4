import Foundation
import JSONText
import SystemSupport

/// Leftovers and refused files in the spool.
extension Examination {
  /// Examines `failed/`: each file there has a reason, and each reason a file.
  mutating func examineFailed() throws {
    let names = Set(try entries("failed").filter { !$0.isHidden })
    let reasons = Set(names.map(\.reasonName))
    for name in names.sorted() where !names.contains(name.reasonName) && !reasons.contains(name) {
      guard try isUnchanged(name, in: "failed") else { continue }
      if name.bytes.suffix(7).elementsEqual(".reason".utf8) {
        report.find(
          "reason-without-file", path(name, "failed"), problem: "the file that this is the reason for is missing",
          action: "remove it, if you have removed the file")
      } else {
        report.find(
          "file-without-reason", path(name, "failed"), problem: "it has no file with a reason",
          action: "rename it into \(spool)/new to try it again, or remove it")
      }
    }
  }

  /// Examines half-written files that nobody will finish.
  mutating func examineLeftovers() throws {
    for folder in ["cur", "failed"] {
      var count = 0
      for name in try entries(folder) where name.isHidden && name != Self.copyOfLines {
        guard try isUnchanged(name, in: folder) else { continue }
        count += 1
        if isRunning {
          report.find(
            "leftover", path(name, folder), problem: "the daemon has not finished writing this file",
            action: "restart the daemon, which removes it")
        }
      }
      if !isRunning && count > 0 {
        report.notes.append(
          "the next start of the daemon removes \(counted(count, "half-written file")) in \(spool)/\(folder)")
      }
    }
    try examineOutputs()
    let yesterday = Int64((Date().timeIntervalSince1970 - 86_400) * 1e9)
    guard let temporary = try open(spool + "/tmp") else { return }
    for name in try entries("tmp") {
      guard let status = try? temporary.status(of: name), status.changeTime < yesterday else { continue }
      report.find(
        "leftover", path(name, "tmp"), problem: "this job file was begun more than a day ago and not submitted",
        action: "remove it, if its writer has given up")
    }
  }

  /// Examines unfinished pictures of `image.encode`; only those beside inputs in `payload/` can be found.
  private mutating func examineOutputs() throws {
    let names = try entries("payload").filter {
      $0.bytes.starts(with: ".bobbin-".utf8) && $0.bytes.suffix(4).elementsEqual(".tmp".utf8)
    }
    for name in names {
      guard try isUnchanged(name, in: "payload") else { continue }
      if unfinishedPictures == 0 {
        report.find(
          "leftover", path(name, "payload"), problem: "an unfinished picture that no job is writing",
          action: "remove it")
      }
    }
  }
}

extension FileName {
  /// The name of the file with the reason why the file of this name is in `failed/`; see Documentation/SpoolFormat.md.
  fileprivate var reasonName: FileName { FileName(bytes: bytes.prefix(248)).appending(".reason") }
}

/// The files in `cur/`: each belongs to an unfinished job.
extension Examination {
  /// The daemon's copy of a file with one job on each line, while that is being admitted.
  fileprivate static let copyOfLines: FileName = ".admission.lines"

  mutating func examineCurrent(_ names: [FileName], _ reader: StoreReader) throws {
    // Files of lines may wait for their turn.
    let areWaiting = names.contains(Self.copyOfLines)
    let names = names.filter { name in
      !name.isHidden && !(areWaiting && [".ndjson", ".jsonl"].contains { name.description.hasSuffix($0) })
    }
    if names.isEmpty { return }
    let unfinished = Set(
      try reader.rows("SELECT DISTINCT file FROM Job WHERE state NOT IN (\(Self.final)) AND file IS NOT NULL")
        .compactMap { $0.first ?? nil })
    var waiting = 0
    for name in names where !unfinished.contains(name.description) {
      guard try isUnchanged(name, in: "cur") else { continue }
      let states = try states(ofJobsIn: name, reader)
      // It repeats a job that came with another file.
      if states.contains(where: { !Self.finalStates.contains($0) }) { continue }
      if !isRunning {
        waiting += 1
      } else if states.isEmpty {
        report.find(
          "file-without-job", path(name, "cur"), problem: "no job in the store belongs to this file",
          action: "restart the daemon, which recovers it")
      } else {
        report.find(
          "file-of-finished-job", path(name, "cur"),
          problem: "its jobs are finished (\(Set(states).sorted().joined(separator: ", "))), and it should be gone",
          action: "see \"journalctl -u bobbind\" for what kept it; the next start of the daemon removes it")
      }
    }
    if waiting > 0 {
      report.notes.append(
        "the next start of the daemon recovers or removes \(counted(waiting, "file")) in \(spool)/cur")
    }
  }

  /// The states of the jobs that a file holds, as far as the store knows them.
  private func states(ofJobsIn name: FileName, _ reader: StoreReader) throws -> [String] {
    let ids = jobIDs(in: name).map(StoreReader.literal)
    var states = try reader.rows("SELECT state FROM Job WHERE file = \(StoreReader.literal(name.description))")
    for start in stride(from: 0, to: ids.count, by: 500) {
      let part = ids[start..<min(start + 500, ids.count)].joined(separator: ", ")
      states += try reader.rows("SELECT state FROM Job WHERE id IN (\(part))")
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

extension Examination {
  /// Examines rights by which others could do harm, and folders between which files can't be renamed.
  mutating func examineFolders() throws {
    let state = (store as NSString).deletingLastPathComponent
    var owners: [UInt32: String] = [:]
    var devices: [UInt64: String] = [:]
    let folders = [
      (spool + "/cur", false), (spool + "/failed", false), (spool + "/new", true), (spool + "/tmp", true),
      (spool + "/payload", true),
    ]
    for (path, isDropBox) in isOfFleet ? folders : [(state, false)] + folders {
      guard let status = try open(path)?.status() else { continue }
      let mode = "0" + String(status.mode, radix: 8)
      if isDropBox {
        if status.mode & 0o022 != 0 && status.mode & 0o1000 == 0 {
          report.find(
            "permissions", path, problem: "with mode \(mode) users can rename and remove each other's files",
            action: "chmod +t \(path)")
        }
      } else if status.mode & 0o022 != 0 {
        report.find(
          "permissions", path, problem: "with mode \(mode) others than the daemon can put files there",
          action: "chmod go-w \(path)")
      }
      if path != state { devices[status.device] = path }
      if !isDropBox { owners[status.owner] = path }
    }
    if devices.count > 1 {
      report.find(
        "file-systems", spool,
        problem:
          "its folders are on several file systems (\(devices.values.sorted().joined(separator: ", "))), so that files can't be renamed from one to the other",
        action: "put all of them on one")
    }
    if owners.count > 1 {
      report.find(
        "owners", spool,
        problem: "the daemon's folders have different owners (\(owners.values.sorted().joined(separator: ", ")))",
        action: "chown them to the user that bobbind runs as")
    }
  }
}
