import CLinux
import Foundation
import Glibc
import Synchronization
import SystemSupport
import TestSupport
import Testing

/// What one user may open through this process, which runs as root.
@Suite("Opening files with a user's rights", .enabled(if: SkipReason.runsAsRoot()))
struct PathWalkTests {
  private let ann = UserIdentity(user: 4001, name: "ann", primaryGroup: 4101, groups: [4101])
  private let bob: UInt32 = 4002
  private let temporary: TemporaryDirectory

  init() throws {
    temporary = try TemporaryDirectory()
    try #require(chmod(temporary.path, 0o755) == 0)
  }

  private func file(_ name: String, _ text: String, owner: UInt32, mode: mode_t = 0o600) throws {
    let path = temporary.path(name)
    try Data(text.utf8).write(to: URL(filePath: path))
    try systemCall("chown", path) { chown(path, owner, owner) }
    try systemCall("chmod", path) { chmod(path, mode) }
  }

  private func folder(_ name: String, owner: UInt32, mode: mode_t = 0o755) throws {
    let path = temporary.path(name)
    try systemCall("mkdir", path) { mkdir(path, 0o700) }
    try systemCall("chown", path) { chown(path, owner, owner) }
    try systemCall("chmod", path) { chmod(path, mode) }
  }

  private func link(_ name: String, to target: String, owner: UInt32 = 4001) throws {
    let path = temporary.path(name)
    try systemCall("symlink", path) { symlink(target, path) }
    try systemCall("lchown", path) { lchown(path, owner, owner) }
  }

  private func content(_ path: String) throws -> String {
    String(decoding: try ann.openFile(path).readAll(limit: 1000), as: UTF8.self)
  }

  private func problem(_ path: String) -> String? {
    let error = #expect(throws: PathProblem.self) { _ = try ann.openFile(path) }
    #expect(error?.isLasting == true)
    return error?.description
  }

  @Test("A file of one's own is read through folders, links, dots and two dots as by the kernel")
  func ownFile() throws {
    try folder("a", owner: bob)
    try folder("a/b", owner: 4001)
    try file("a/b/own", "mine", owner: 4001)
    try link("relative", to: "a/./b")
    try link("absolute", to: temporary.path("relative/own"))
    try link("up", to: "a/b/../b/own")
    try link("slash", to: "a/b/")
    for path in [
      "a/b/own", "a//b/./own", "a/../a/b/own", "relative/own", "absolute", "up", "slash/own", "slash/../b/own",
    ] {
      #expect(try content(temporary.path(path)) == "mine")
    }
    #expect(try content("/../.." + temporary.path("absolute")) == "mine")
    #expect(problem(temporary.path("a/b/own/"))?.contains("ENOTDIR") == true)
    #expect(problem(temporary.path("a/b/own/../own"))?.contains("ENOTDIR") == true)
    #expect(problem(temporary.path("a/b/none"))?.contains("ENOENT") == true)
    #expect(problem(temporary.path("a/b")) == "it is no regular file")
    #expect(problem("relative/own")?.contains("absolute") == true)
  }

  @Test("Another's file is refused, also through a link, and the message names user, file and cure")
  func foreignFile() throws {
    try file("secret", "bob's", owner: bob)
    try link("link", to: "secret")
    let expected =
      "ann (4001) may not read the file \(temporary.path("secret")); give the right to a common group (chgrp, chmod g+r) "
      + "or to the user (setfacl -m u:ann:r), or copy the file into the spool's payload/"
    #expect(problem(temporary.path("secret")) == expected)
    #expect(problem(temporary.path("link")) == expected)
    try file("shared", "for all", owner: bob, mode: 0o604)
    #expect(try content(temporary.path("shared")) == "for all")
    try file("group", "for the group", owner: bob, mode: 0o640)
    try #require(chown(temporary.path("group"), bob, 4101) == 0)
    #expect(try content(temporary.path("group")) == "for the group")
    try file("excluded", "not for the group", owner: bob, mode: 0o604)
    try #require(chown(temporary.path("excluded"), bob, 4101) == 0)
    #expect(problem(temporary.path("excluded"))?.contains("may not read") == true)
  }

  @Test("An access control list lets a user in, and keeps one out")
  func accessControlList() throws {
    try file("let in", "hello", owner: bob)
    try AccessControlListBytes(owner: 6, group: 0, other: 0, mask: 4, users: [4001: 4]).set(
      on: temporary.path("let in"))
    #expect(try content(temporary.path("let in")) == "hello")
    try file("kept out", "hello", owner: bob)
    try AccessControlListBytes(owner: 6, group: 4, other: 4, mask: 4, users: [4001: 0])
      .set(on: temporary.path("kept out"))
    #expect(problem(temporary.path("kept out"))?.contains("may not read") == true)
  }

  @Test("A folder that a user may not search hides what is in it, and whether it is there")
  func unsearchable() throws {
    try folder("closed", owner: bob, mode: 0o744)
    try file("closed/open", "for all", owner: bob, mode: 0o644)
    let expected = "ann (4001) may not search the folder \(temporary.path("closed")); "
    for name in ["open", "none", "..", "."] {
      #expect(problem(temporary.path("closed/" + name))?.hasPrefix(expected) == true)
    }
    try link("into", to: "closed/open")
    #expect(problem(temporary.path("into"))?.hasPrefix(expected) == true)
  }

  @Test("Links that lead round in a circle end, and so many as the kernel follows are followed")
  func manyLinks() throws {
    try link("a", to: "b")
    try link("b", to: "a")
    #expect(problem(temporary.path("a"))?.contains("ELOOP") == true)
    try file("0", "end", owner: 4001)
    for number in 1...41 { try link("\(number)", to: "\(number - 1)") }
    #expect(try content(temporary.path("40")) == "end")
    #expect(problem(temporary.path("41"))?.contains("ELOOP") == true)
  }

  @Test("What /proc shows this process is not shown to others")
  func kernelFiles() throws {
    try file("secret", "bob's", owner: bob)
    let secret = try FileDescriptor.open(temporary.path("secret"))
    let paths = ["/proc/self/fd/\(secret.number)", "/dev/fd/\(secret.number)", "/proc/self/maps", "/proc/self/cwd/x"]
    for path in paths { #expect(problem(path)?.contains("is the kernel's") == true, "\(path)") }
    try link("link", to: "/proc/self/fd/\(secret.number)")
    #expect(problem(temporary.path("link"))?.contains("is the kernel's") == true)
    // Nor to root, whom this process runs as.
    for path in paths + ["/proc/self/environ", "/sys/kernel/notes"] {
      let error = #expect(throws: PathProblem.self) { _ = try UserIdentity(user: 0).openFile(path) }
      #expect(error?.description.contains("is the kernel's") == true, "\(path)")
    }
  }

  @Test(
    "A stranger's link in a folder that others may write to is not followed, for a file, a folder or an output",
    arguments: [0o1777, 0o777, 0o3770, 0o2775, 0o770] as [mode_t])
  func plantedLink(mode: mode_t) throws {
    try folder("drop", owner: 4003, mode: 0o755)
    try #require(chown(temporary.path("drop"), 4003, 4101) == 0 && chmod(temporary.path("drop"), mode) == 0)
    try folder("private", owner: 4001, mode: 0o700)
    try file("private/own", "mine", owner: 4001)
    try link("drop/planted", to: temporary.path("private/own"), owner: bob)
    try link("drop/folder", to: temporary.path("private"), owner: bob)
    for path in ["drop/planted", "drop/folder/own"] {
      #expect(problem(temporary.path(path))?.contains("belongs to another user") == true)
    }
    #expect(throws: PathProblem.self) { _ = try ann.openFolder(ofOutput: temporary.path("drop/folder/new")) }
    #expect(throws: PathProblem.self) { _ = try UserIdentity(user: 0).openFile(temporary.path("drop/planted")) }
    // One's own, the folder's owner's and root's lead nobody astray.
    for owner in [4001, 4003, 0] as [UInt32] {
      try link("drop/of \(owner)", to: temporary.path("private/own"), owner: owner)
      #expect(try content(temporary.path("drop/of \(owner)")) == "mine")
    }
  }

  @Test("A stranger's link in a folder that only its owner may write to is followed")
  func foreignLink() throws {
    try folder("open", owner: bob)
    try file("own", "mine", owner: 4001)
    try link("open/link", to: temporary.path("own"), owner: bob)
    #expect(try content(temporary.path("open/link")) == "mine")
  }

  @Test("FIFOs, sockets and devices are neither waited for nor opened")
  func noFiles() throws {
    try #require(mkfifo(temporary.path("fifo"), 0o666) == 0)
    try #require(mknod(temporary.path("device"), S_IFCHR | 0o666, 0) == 0)
    for name in ["fifo", "device"] { #expect(problem(temporary.path(name)) == "it is no regular file") }
  }

  @Test("A path that is exchanged all the time never leads to what the user may not read")
  func races() throws {
    try folder("own", owner: 4001)
    try folder("foreign", owner: bob, mode: 0o700)
    try file("own/file", "mine", owner: 4001)
    try file("foreign/file", "bob's", owner: bob)
    try file("secret", "bob's", owner: bob)
    try link("own/link", to: "file")
    try link("other link", to: "../secret")
    try link("folder", to: "own")
    try link("other folder", to: "foreign")
    let isDone = Mutex(false)
    let path = temporary.path
    let attacker = Thread {
      while !isDone.withLock({ $0 }) {
        for (one, other) in [("folder", "other folder"), ("own/link", "other link"), ("own/file", "secret")] {
          _ = renameat2(AT_FDCWD, "\(path)/\(one)", AT_FDCWD, "\(path)/\(other)", 2 /* RENAME_EXCHANGE */)
        }
      }
    }
    attacker.start()
    defer { isDone.withLock { $0 = true } }
    var (read, refused) = (0, 0)
    while read < 500 || refused < 500 {
      do {
        #expect(try content(path + "/folder/link") == "mine")
        read += 1
      } catch is PathProblem {
        refused += 1
      }
    }
  }

  @Test("An output's folder needs the rights to write and to search")
  func outputFolder() throws {
    try folder("own", owner: 4001, mode: 0o300)
    let (directory, name) = try ann.openFolder(ofOutput: temporary.path("own/new"))
    #expect(name == "new")
    #expect(try directory.status().isSameFile(as: Directory(path: temporary.path("own")).status()))
    for (mode, act) in [(0o755, "write to"), (0o702, "search"), (0o706, "search")] as [(mode_t, String)] {
      let folderName = "folder \(String(mode, radix: 8))"
      try folder(folderName, owner: bob, mode: mode)
      let error = #expect(throws: PathProblem.self) {
        _ = try ann.openFolder(ofOutput: temporary.path(folderName + "/new"))
      }
      #expect(error?.description.hasPrefix("ann (4001) may not ") == true, "\(act)")
    }
    for path in ["own/", "own/.", "own/.."] {
      #expect(throws: PathProblem.self) { _ = try ann.openFolder(ofOutput: temporary.path(path)) }
    }
  }

  @Test("Root passes everywhere")
  func root() throws {
    try folder("closed", owner: bob, mode: 0o700)
    try file("closed/secret", "bob's", owner: bob)
    let root = UserIdentity(user: 0)
    #expect(try root.openFile(temporary.path("closed/secret")).readAll(limit: 100) == Data("bob's".utf8))
  }
}
