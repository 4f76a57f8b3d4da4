import Configuration
import Foundation
import Glibc
import Jobs
import SystemSupport
import TestSupport
import Testing

@testable import JobDaemon

@Suite("The submitter of a job file")
struct SubmitterTests {
  private let folder: TemporaryDirectory
  private let spool: Spool

  init() throws {
    folder = try TemporaryDirectory()
    spool = try Spool(Paths(root: folder.path))
  }

  private func submitter(afterRestart name: FileName) throws -> UInt32 {
    try spool.reread(name, limits: .init(document: 1_000, lines: 1_000)).get().submitter
  }

  @Test("Who sent a job over the socket is known from its file alone, as the next start needs it")
  func sent() throws {
    let name = Submitter.fileName(for: 4001)
    #expect(try spool.store(Data("{}".utf8), as: name, submitter: 4001).submitter == 4001)
    #expect(try submitter(afterRestart: name) == 4001)
  }

  @Test("A file stands for its owner whatever its name", .enabled(if: SkipReason.runsAsRoot()))
  func owner() throws {
    let name = Submitter.fileName(for: 0)
    let path = "\(Paths(root: folder.path).spoolNew)/\(name)"
    try Data("{}".utf8).write(to: URL(filePath: path))
    try #require(chown(path, 4001, 4001) == 0)
    guard case .claimed(let file) = try spool.claim(name, limits: .init(document: 1_000, lines: 1_000)) else {
      Issue.record("not claimed")
      return
    }
    #expect(file.submitter == 4001)
    #expect(try submitter(afterRestart: name) == 4001)
  }

  @Test("A firing's job has the firing's ID after a restart and on each host, but nobody else's file of its name has")
  func firing() throws {
    let name = Submitter.fileName(forFiring: "a-b@2026-11-23T03:00:00Z")
    let file = try spool.store(Data("{}".utf8), as: name, submitter: Credentials.effectiveUser)
    #expect(
      file.defaultID(.short) == "a-b@2026-11-23T03:00:00Z"
        && file.defaultID(.ofSpool("ash:/spool")) == file.defaultID(.short))
    let limits = Spool.JobFileLimits(document: 1_000, lines: 1_000)
    #expect(try spool.reread(name, limits: limits).get().defaultID(.long) == file.defaultID(.long))
    #expect(try spool.reread(name, limits: limits).get().submitter == Credentials.effectiveUser)
    let path = "\(Paths(root: folder.path).spoolCurrent)/\(name)"
    if Credentials.effectiveUser == 0, chown(path, 4001, 4001) == 0 {
      #expect(try spool.reread(name, limits: limits).get().defaultID(.long) != file.defaultID(.long))
    }
  }

  @Test("An output that the daemon made for somebody gives no rights of the daemon when it is dropped as a job")
  func output() throws {
    let file = try spool.current.createFile("output.json")
    try file.writeAll(Data("{}".utf8))
    try OutputMark.set(4001, on: file)
    #expect(try submitter(afterRestart: "output.json") == 4001)
  }

  /// Drops a file of the daemon's own user, whoever put it there.
  private func drop(_ name: FileName, marked user: UInt32? = nil) throws -> Spool.Claim {
    let file = try spool.new.createFile(name, mode: 0o640)
    try file.writeAll(Data("{}".utf8))
    if let user { try OutputMark.set(user, on: file) }
    try file.close()
    spool.beginBatch()
    return try spool.claim(name, limits: .init(document: 1_000, lines: 1_000))
  }

  private func submitter(_ claim: Spool.Claim) -> UInt32? {
    if case .claimed(let file) = claim { file.submitter } else { nil }
  }

  private func refusal(_ claim: Spool.Claim) -> String? {
    if case .refused(let refusal) = claim { refusal.reason } else { nil }
  }

  @Test(
    "A file that a program wrote as the daemon's user is no job of that user, where others may put it into new/",
    .enabled(if: SkipReason.runsAsRoot()), arguments: [(0o3730, 4101), (0o1777, 0)] as [(mode_t, UInt32)])
  func writtenByProgram(mode: mode_t, group: UInt32) throws {
    let path = Paths(root: folder.path).spoolNew
    try #require(chown(path, 0, group) == 0 && chmod(path, mode) == 0)
    #expect(try refusal(drop("text.json"))?.contains("use bobbinctl submit") == true)
    #expect(try refusal(drop(Submitter.fileName(for: 0)))?.contains("use bobbinctl submit") == true)
    #expect(try submitter(drop("picture.json", marked: 4001)) == 4001)
  }

  @Test("A user's own daemon takes what the same user drops")
  func ownDaemon() throws {
    #expect(chmod(Paths(root: folder.path).spoolNew, 0o700) == 0)
    #expect(try submitter(drop("mine.json")) == Glibc.geteuid())
    // This name would stand for another user at the next start.
    #expect(try refusal(drop(Submitter.fileName(for: 4001))) != nil)
  }

  @Test("What was sent over the socket and failed is still its sender's when it is put back into new/")
  func putBack() throws {
    let name = Submitter.fileName(for: 4001)
    _ = try spool.store(Data("{}".utf8), as: name, submitter: 4001)
    try spool.refuse(name, in: spool.current, reasons: ["for a reason"])
    try spool.failed.rename(name, to: "again.json", in: spool.new)
    #expect(try submitter(spool.claim("again.json", limits: .init(document: 1_000, lines: 1_000))) == 4001)
  }
}
