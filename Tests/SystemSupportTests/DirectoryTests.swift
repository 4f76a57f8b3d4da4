import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

@Suite struct DirectoryTests {
  let temporary: TemporaryDirectory
  let directory: Directory

  init() throws {
    temporary = try TemporaryDirectory()
    directory = try temporary.open()
  }

  static let hostileNames: [FileName] = [
    "a\nb", "\u{1b}[2J", "-rf", "~", "*", " ", FileName(bytes: [0xff, 0xfe, 0x80]), "ünï",
    FileName(bytes: [UInt8](repeating: 0x78, count: 255)),
  ]

  @Test("Hostile names are created, listed, opened, renamed and removed unchanged", arguments: hostileNames)
  func hostileName(name: FileName) throws {
    _ = try directory.createFile(name)
    #expect(try directory.entries() == [name])
    #expect(try directory.contains(name))
    #expect(try directory.openFile(name).status().kind == .regular)
    try directory.rename(name, to: "plain")
    try directory.rename("plain", to: name)
    try directory.unlink(name)
    #expect(try directory.entries().isEmpty)
    #expect(try !directory.contains(name))
  }

  @Test(
    "A name that isn't one entry is refused before it reaches the kernel",
    arguments: ["", ".", "..", "a/b", "/etc/passwd", FileName(bytes: [UInt8](repeating: 0x78, count: 256))])
  func notAComponent(name: FileName) throws {
    _ = try directory.createFile("ok")
    for error in [
      #expect(throws: SystemError.self) { _ = try directory.openFile(name) },
      #expect(throws: SystemError.self) { try directory.rename("ok", to: name) },
      #expect(throws: SystemError.self) { try directory.unlink(name) },
    ] {
      #expect(error?.code == .invalidArgument)
    }
  }

  @Test("A symbolic link is refused, also where a directory is wanted")
  func symbolicLink() throws {
    symlink("/etc/passwd", temporary.path("link"))
    symlink("/etc", temporary.path("folder"))
    #expect(#expect(throws: SystemError.self) { _ = try directory.openFile("link") }?.code == .symbolicLink)
    #expect(throws: SystemError.self) { _ = try directory.openDirectory("folder") }
    #expect(try directory.status(of: "link").kind == .symbolicLink)
  }

  @Test("A FIFO doesn't block the opener and shows what it is", .timeLimit(.minutes(10)))
  func fifo() throws {
    mkfifo(temporary.path("fifo"), 0o600)
    #expect(try directory.openFile("fifo").status().kind == .fifo)
  }

  @Test("Renaming without replacing keeps the target")
  func renameWithoutReplacing() throws {
    try directory.makeDirectory("other")
    let other = try directory.openDirectory("other")
    try directory.writeDurably("a", Data("a".utf8))
    try other.writeDurably("b", Data("b".utf8))
    let error = #expect(throws: SystemError.self) {
      try directory.rename("a", to: "b", in: other, replacing: false)
    }
    #expect(error?.code == .exists)
    #expect(try other.openFile("b").readAll(limit: 10) == Data("b".utf8))
    try directory.rename("a", to: "b", in: other)
    #expect(try other.openFile("b").readAll(limit: 10) == Data("a".utf8))
    try other.synchronize()
    #expect(try directory.entries() == ["other"])
  }

  @Test("A durable write replaces the file as a whole and leaves nothing else behind")
  func durableWrite() throws {
    let name = FileName(bytes: [UInt8](repeating: 0x79, count: 255))
    try directory.writeDurably(name, Data("old".utf8))
    try directory.writeDurably(name, Data("new".utf8), mode: 0o644)
    #expect(try directory.openFile(name).readAll(limit: 10) == Data("new".utf8))
    #expect(try directory.entries() == [name])
  }

  @Test("A durable write that fails removes its temporary file")
  func failedDurableWrite() throws {
    try directory.makeDirectory("taken")
    _ = try directory.openDirectory("taken").createFile("inside")
    #expect(throws: SystemError.self) { try directory.writeDurably("taken", Data("x".utf8)) }
    #expect(try directory.entries() == ["taken"])
  }

  @Test("A scan sees every entry of a large directory once, and stops when told")
  func largeScan() throws {
    for index in 0..<3000 { _ = try directory.createFile(FileName("file-\(index)")) }
    let names = try directory.entries()
    #expect(names.count == 3000)
    #expect(Set(names).count == 3000)
    var visits = 0
    try directory.forEachEntry { _ in
      visits += 1
      return visits < 10
    }
    #expect(visits == 10)
  }
}
