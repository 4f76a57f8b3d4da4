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
    // A slow disk makes fewer files.
    let end = ContinuousClock.now + .seconds(20)
    while claimed < 2_000, claimed == 0 || ContinuousClock.now < end {
      guard case .claimed(let file) = try spool.claim("same.json", limits: .init(document: 1_000, lines: 1_000)) else {
        continue
      }
      claimed += 1
      let kept = try spool.current.openFile("same.json").readAll(limit: 1_000)
      try #require(kept == file.data)
      try spool.release("same.json")
    }
  }

  @Test("An empty file is taken when its writer has closed it, and left alone until then")
  func empty() throws {
    let folder = try TemporaryDirectory()
    let paths = Paths(root: folder.path)
    let spool = try Spool(paths)
    #expect(FileManager.default.createFile(atPath: paths.spoolNew + "/empty.json", contents: nil))
    guard case .unfinished = try spool.claim("empty.json", limits: .init(document: 10, lines: 10), as: .scan),
      case .nothing = try spool.claim("empty.json", limits: .init(document: 10, lines: 10), as: .created)
    else {
      Issue.record("it was taken before it was written")
      return
    }
    guard case .claimed(let file) = try spool.claim("empty.json", limits: .init(document: 10, lines: 10), as: .event)
    else {
      Issue.record("it was not taken")
      return
    }
    #expect(file.data.isEmpty)
  }

  @Test("A file whose name begins with a point is its writer's still, and is left alone however it was sighted")
  func hidden() throws {
    let folder = try TemporaryDirectory()
    let paths = Paths(root: folder.path)
    let spool = try Spool(paths)
    #expect(FileManager.default.createFile(atPath: paths.spoolNew + "/.half.json", contents: Data("{}".utf8)))
    for sighting in [Spool.Sighting.event, .created, .scan] {
      guard case .nothing = try spool.claim(".half.json", limits: .init(document: 10, lines: 10), as: sighting) else {
        Issue.record("it was claimed")
        return
      }
    }
    #expect(try spool.new.contains(".half.json") && !spool.current.contains(".half.json"))
  }

  @Test("A file is as large as it may be, and not a byte larger", arguments: [10, 11])
  func size(count: Int) throws {
    let folder = try TemporaryDirectory()
    let paths = Paths(root: folder.path)
    let spool = try Spool(paths)
    let data = Data(repeating: 0x20, count: count)
    #expect(FileManager.default.createFile(atPath: paths.spoolNew + "/large.json", contents: data))
    switch try spool.claim("large.json", limits: .init(document: 10, lines: 10)) {
    case .claimed(let file): #expect(count == 10 && file.data == data)
    case .refused(let refusal):
      #expect(count == 11)
      #expect(refusal.reason.hasPrefix("it is larger than 10 bytes (11); see [Spool] MaxJobFileSize, or"))
    default: Issue.record("it was neither taken nor refused")
    }
  }

  @Test("A file with a second name is refused: whoever has that could write to it later")
  func hardLink() throws {
    let folder = try TemporaryDirectory()
    let paths = Paths(root: folder.path)
    let spool = try Spool(paths)
    #expect(FileManager.default.createFile(atPath: folder.path + "/kept", contents: Data("{}".utf8)))
    try #require(link(folder.path + "/kept", paths.spoolNew + "/twice.json") == 0)
    guard case .refused(let refusal) = try spool.claim("twice.json", limits: .init(document: 1_000, lines: 1_000))
    else {
      Issue.record("it was not refused")
      return
    }
    #expect(refusal.reason == "it has 2 hard links; a job file must have one")
  }

  @Test("What is no regular file is refused, and never followed or waited for")
  func refused() throws {
    let folder = try TemporaryDirectory()
    let paths = Paths(root: folder.path)
    let spool = try Spool(paths)
    try #require(mkfifo(paths.spoolNew + "/fifo", 0o644) == 0)
    try #require(symlink("/etc/passwd", paths.spoolNew + "/link") == 0)
    for name in ["fifo", "link"] as [FileName] {
      guard case .refused(let refusal) = try spool.claim(name, limits: .init(document: 1_000, lines: 1_000)) else {
        Issue.record("\(name) was not refused")
        continue
      }
      #expect(refusal.reason == "it is no regular file")
      try spool.refuse(name, in: spool.current, reasons: [refusal.reason])
      #expect(try spool.failed.contains(name))
      #expect(try !spool.current.contains(name))
    }
  }

  @Test(
    "A file that others than its owner may write to is refused, unless its group is its owner's alone",
    .enabled(if: SkipReason.runsAsRoot()),
    arguments: [
      (0o664, 4001, 4101, false), (0o666, 0, 0, false), (0o646, 0, 0, false), (0o644, 4001, 4101, true),
      (0o664, 4001, 4001, true), (0o664, 0, 0, true), (0o600, 4001, 4101, true),
    ] as [(mode_t, UInt32, UInt32, Bool)])
  func writableByOthers(mode: mode_t, owner: UInt32, group: UInt32, isTaken: Bool) throws {
    let folder = try TemporaryDirectory()
    let paths = Paths(root: folder.path)
    let spool = try Spool(paths)
    let path = paths.spoolNew + "/a.json"
    try Data("{}".utf8).write(to: URL(filePath: path))
    try #require(chown(path, owner, group) == 0 && chmod(path, mode) == 0)
    switch try spool.claim("a.json", limits: .init(document: 1_000, lines: 1_000)) {
    case .claimed(let file): #expect(isTaken && file.submitter == owner)
    case .refused(let refusal):
      #expect(!isTaken)
      #expect(refusal.reason.contains("(mode \(String(mode, radix: 8)))") && refusal.reason.contains("chmod go-w"))
    default: Issue.record("neither claimed nor refused")
    }
  }

  @Test("A reason is one line of a bounded length for each failure, whatever the submitter wrote")
  func reasons() throws {
    let folder = try TemporaryDirectory()
    let spool = try Spool(Paths(root: folder.path))
    func reason(_ reasons: [String]) throws -> String {
      try spool.current.writeDurably("a", Data())
      try spool.refuse("a", in: spool.current, reasons: reasons)
      let text = String(decoding: try spool.failed.openFile("a.reason").readAll(limit: 10 << 20), as: UTF8.self)
      for name in try spool.failed.entries() { try spool.failed.unlink(name) }
      return text
    }
    let hostile = "\"zz\u{1b}[31m\n\u{202e}FAKE\u{9b}\u{200b}\u{2028}\": is no key"
    #expect(
      try reason([hostile, "second"])
        == #"a: "zz\x1b[31m\n\u{202e}FAKE\u{9b}\u{200b}\u{2028}": is no key"# + "\nsecond\n")
    #expect(try reason([String(repeating: "k", count: 1 << 20)]).utf8.count < 3_000)
    let many = try reason((0..<100_000).map { "job \($0)" })
    #expect(many.hasSuffix("\njob 999\nand 99000 more\n"))
  }
}
