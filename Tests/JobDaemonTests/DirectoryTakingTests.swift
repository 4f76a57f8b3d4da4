import Foundation
import SystemSupport
import TestSupport
import Testing

@testable import JobDaemon

@Suite("A file whose job is over is taken out of its folder")
struct DirectoryTakingTests {
  @Test("It is moved or deleted, but one that has come in its place is put back", arguments: [true, false])
  func take(isMoved: Bool) throws {
    let folder = try TemporaryDirectory()
    for name in ["in", "done"] {
      try FileManager.default.createDirectory(atPath: folder.path(name), withIntermediateDirectories: true)
    }
    let (source, done) = (try Directory(path: folder.path("in")), try Directory(path: folder.path("done")))
    let target = isMoved ? done : nil
    let path = folder.path("in") + "/a"
    try Data("old".utf8).write(to: URL(fileURLWithPath: path))
    let old = FileForm(try source.status(of: "a"))
    // As whoever writes a file anew and renames it into the place of the old one.
    try Data("newer".utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    let new = FileForm(try source.status(of: "a"))
    try source.take("a", old, to: target)
    #expect(try source.entries() == ["a"] && done.entries().isEmpty)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "newer")
    try source.take("a", new, to: target)
    #expect(try source.entries().isEmpty)
    #expect(try done.entries() == (isMoved ? ["a"] : []))
  }
}
