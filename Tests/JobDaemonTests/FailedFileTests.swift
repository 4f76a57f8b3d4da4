import Configuration
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

@testable import JobDaemon

@Suite("Files in failed/ that are to be removed")
struct FailedFileTests {
  private func file(_ name: FileName, _ user: UInt32, _ time: Double) -> FailedFile {
    FailedFile(name: name, user: user, time: Date(timeIntervalSince1970: time))
  }

  @Test("What is too old goes, whoever's it is")
  func age() {
    var files = [file("a", 1, 10), file("b", 1, 20), file("c", 2, 15)]
    let removed = FailedFile.removable(from: &files, limit: 10, before: Date(timeIntervalSince1970: 16))
    #expect(Set(removed.map(\.name)) == ["a", "c"])
    #expect(files.map(\.name) == ["b"])
  }

  @Test("Of too many, those of the user who has the most go, the oldest first")
  func count() {
    var files = (0..<100).map { file(FileName("many\($0)"), 1, Double(100 + $0)) }
    files += [file("old", 2, 1), file("older", 3, 0)]
    let removed = FailedFile.removable(from: &files, limit: 12, before: .distantPast)
    #expect(removed.map(\.name) == (0..<90).map { FileName("many\($0)") })
    #expect(Set(files.map(\.name)).isSuperset(of: ["old", "older", "many99"]) && files.count == 12)
  }

  @Test("A reason whose file was taken away is removed and counted as a file")
  func reasonAlone() throws {
    let folder = try TemporaryDirectory()
    let spool = try Spool(Paths(root: folder.path))
    let long = FileName(bytes: [UInt8](repeating: 0x78, count: 255))
    for name in ["a", "b", long] {
      try spool.current.writeDurably(name, Data())
      try spool.refuse(name, in: spool.current, reasons: ["for a reason"])
    }
    for name in ["a", long] { try spool.failed.unlink(name) }
    try spool.failed.makeDirectory("folder.reason")
    let files = try FailedFile.all(in: spool.failed)
    #expect(Set(files.map(\.name)) == ["a.reason", "b", long.reasonName])
    for file in files { try file.remove(from: spool.failed) }
    #expect(try spool.failed.entries() == ["folder.reason"])
  }

  @Test("A file goes with its reason; what has none, and folders, stay")
  func removing() throws {
    let folder = try TemporaryDirectory()
    let spool = try Spool(Paths(root: folder.path))
    let sent = Submitter.fileName(for: 4001)
    for name in ["a", sent, FileName(bytes: [UInt8](repeating: 0x78, count: 255))] {
      try spool.current.writeDurably(name, Data())
      try spool.refuse(name, in: spool.current, reasons: ["for a reason"])
    }
    try spool.failed.writeDurably("note", Data())
    try spool.failed.makeDirectory("folder")
    try spool.failed.writeDurably("folder.reason", Data())
    let files = try FailedFile.all(in: spool.failed)
    #expect(files.count == 3)
    #expect(files.first { $0.name == sent }?.user == 4001)
    for file in files { try file.remove(from: spool.failed) }
    #expect(try Set(spool.failed.entries()) == ["note", "folder", "folder.reason"])
  }
}
