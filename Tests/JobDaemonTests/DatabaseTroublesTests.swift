import Foundation
import StoreInterface
import SystemSupport
import TestSupport
import Testing

@testable import JobDaemon

@Suite("The reasons why a fleet's database has not answered")
struct DatabaseTroublesTests {
  private let folder: TemporaryDirectory
  private let log: FileHandle
  private let troubles: DatabaseTroubles

  init() throws {
    folder = try TemporaryDirectory()
    try Data().write(to: URL(fileURLWithPath: folder.path("log")))
    log = try FileHandle(forWritingTo: URL(fileURLWithPath: folder.path("log")))
    let journal = Journal(identifier: "test", format: .human, output: log.fileDescriptor)
    troubles = DatabaseTroubles(log: DaemonLog(journal: journal, level: .warning))
  }

  private func lines() throws -> [String] {
    try String(contentsOfFile: folder.path("log"), encoding: .utf8).split(separator: "\n").map(String.init)
  }

  @Test(
    "A host that can't join tells once why the last attempt failed, and no old reason while one hangs")
  func join() throws {
    troubles.note(StoreError(.inputOutput, "nobody listens there"))
    for _ in 0..<2 { troubles.tellOfJoin(patience: .seconds(60)) }
    troubles.tellOfJoin(patience: .zero)
    let (told, begin) = (try lines(), "the fleet's database does not let this host join yet: ")
    try #require(told.count == 2, "\(told)")
    #expect(told[0].hasSuffix(begin + "the last attempt: nobody listens there"))
    #expect(told[1].hasSuffix(begin + "it has not answered, as while a standby is away that commits wait for"))
  }

  @Test(
    "A refusal is told once until there is another one; an absence is not, and is forgotten with an answer")
  func refusals() throws {
    troubles.note(StoreError(.inputOutput, "nobody listens there"))
    #expect(troubles.reason == "nobody listens there")
    for message in ["it is a standby", "it is a standby", "the disk is full", "it is a standby"] {
      troubles.note(StoreError(message.hasPrefix("it") ? .readOnly : .full, message))
    }
    let told = try lines().map { $0.components(separatedBy: ": ").last }
    #expect(told == ["it is a standby", "the disk is full", "it is a standby"])
    troubles.clear()
    #expect(troubles.reason == nil)
  }
}
