import Foundation
import SystemSupport

/// Leftovers and refused files in the spool.
extension Examination {
  /// Examines `failed/`: each file there has a reason, and each reason a file.
  mutating func examineFailed() throws {
    let names = Set(try entries("failed").filter { !$0.isHidden })
    let reasons = Set(names.map(\.reasonName))
    for name in names.sorted() where !names.contains(name.reasonName) && !reasons.contains(name) {
      guard try isSettled(name, in: "failed") else { continue }
      if name.bytes.suffix(7).elementsEqual(".reason".utf8) {
        report.find(
          "reason-without-file", path(name, "failed"), "there is no file that this is the reason for",
          action: "remove it, if you have taken the file away")
      } else {
        report.find(
          "file-without-reason", path(name, "failed"), "nobody knows why it is here",
          action: "rename it into \(spool)/new to try it again, or remove it")
      }
    }
  }

  /// Examines half-written files that nobody will finish.
  mutating func examineLeftovers() throws {
    for folder in ["cur", "failed"] {
      var count = 0
      for name in try entries(folder) where name.isHidden {
        guard try isSettled(name, in: folder) else { continue }
        count += 1
        if isRunning {
          report.find(
            "leftover", path(name, folder), "the daemon has not finished writing this file",
            action: "restart the daemon, which removes it")
        }
      }
      if !isRunning && count > 0 {
        report.notes.append(
          "\(count) half-written files in \(spool)/\(folder); the next start of the daemon removes them")
      }
    }
    try examineOutputs()
    let yesterday = Int64((Date().timeIntervalSince1970 - 86_400) * 1e9)
    guard let temporary = try open(spool + "/tmp") else { return }
    for name in try entries("tmp") {
      guard let status = try? temporary.status(of: name), status.changeTime < yesterday else { continue }
      report.find(
        "leftover", path(name, "tmp"), "somebody began to write this job file more than a day ago",
        action: "remove it, if nobody goes on with it")
    }
  }

  /// Examines unfinished pictures of `image.encode`; only those beside inputs in `payload/` can be found.
  private mutating func examineOutputs() throws {
    let names = try entries("payload").filter {
      $0.bytes.starts(with: ".bobbin-".utf8) && $0.bytes.suffix(4).elementsEqual(".tmp".utf8)
    }
    for name in names {
      guard try isSettled(name, in: "payload") else { continue }
      if unfinishedPictures == 0 {
        report.find(
          "leftover", path(name, "payload"), "a picture that nobody will finish", action: "remove it")
      }
    }
  }
}

extension FileName {
  /// The name of the file with the reason why the file of this name is in `failed/`; see Documentation/SpoolFormat.md.
  fileprivate var reasonName: FileName { FileName(bytes: bytes.prefix(248)).appending(".reason") }
}
