import Configuration
import Foundation
import Glibc
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
    try spool.reread(name, sizeLimit: 1_000).get().submitter
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
    guard case .claimed(let file) = try spool.claim(name, sizeLimit: 1_000) else {
      Issue.record("not claimed")
      return
    }
    #expect(file.submitter == 4001)
    #expect(try submitter(afterRestart: name) == 4001)
  }

  @Test("An output that the daemon made for somebody gives no rights of the daemon when it is dropped as a job")
  func output() throws {
    let file = try spool.current.createFile("output.json")
    try file.writeAll(Data("{}".utf8))
    try OutputMark.set(4001, on: file)
    #expect(try submitter(afterRestart: "output.json") == 4001)
  }
}
