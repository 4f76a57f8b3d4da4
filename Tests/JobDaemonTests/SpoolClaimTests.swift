import Configuration
import Foundation
import Glibc
import Synchronization
import SystemSupport
import TestSupport
import Testing

@testable import JobDaemon

/// Ends a thread of a test.
private final class DoneFlag: Sendable {
  let value = Atomic(false)
}

@Suite("Claiming a job file")
struct SpoolClaimTests {
  @Test("What was read is what lies in cur/, though its submitter puts other files under its name all the time")
  func replaced() throws {
    let folder = try TemporaryDirectory()
    let spool = try Spool(Paths(root: folder.path))
    let path = Paths(root: folder.path).spoolNew + "/same.json"
    let isDone = DoneFlag()
    let submitter = Thread {
      var number = 0
      while !isDone.value.load(ordering: .relaxed) {
        number += 1
        let hidden = path + ".tmp"
        _ = FileManager.default.createFile(atPath: hidden, contents: Data("\(number)".utf8))
        rename(hidden, path)
      }
    }
    submitter.start()
    defer { isDone.value.store(true, ordering: .relaxed) }
    var claimed = 0
    while claimed < 2_000 {
      guard case .claimed(let file) = try spool.claim("same.json", sizeLimit: 1_000) else { continue }
      claimed += 1
      let kept = try spool.current.openFile("same.json").readAll(limit: 1_000)
      try #require(kept == file.data)
      try spool.release("same.json")
    }
  }

  @Test("What is no regular file is refused, and never followed or waited for")
  func refused() throws {
    let folder = try TemporaryDirectory()
    let paths = Paths(root: folder.path)
    let spool = try Spool(paths)
    try #require(mkfifo(paths.spoolNew + "/fifo", 0o644) == 0)
    try #require(symlink("/etc/passwd", paths.spoolNew + "/link") == 0)
    for name in ["fifo", "link"] as [FileName] {
      guard case .refused(let refusal) = try spool.claim(name, sizeLimit: 1_000) else {
        Issue.record("\(name) was not refused")
        continue
      }
      #expect(refusal.reason == "it is no regular file")
      try spool.refuse(name, in: spool.current, reason: refusal.reason)
      #expect(try spool.failed.contains(name))
      #expect(try !spool.current.contains(name))
    }
  }
}
