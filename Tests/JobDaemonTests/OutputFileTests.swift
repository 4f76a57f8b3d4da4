import Configuration
import Foundation
import Glibc
import Jobs
import SystemSupport
import TestSupport
import Testing

@testable import JobDaemon

@Suite("Outputs with the submitter's rights", .enabled(if: SkipReason.runsAsRoot()))
struct OutputFileTests {
  private let ann = UserIdentity(user: 4001, name: "ann", primaryGroup: 4101, groups: [4101])
  private let temporary: TemporaryDirectory
  private let input: FileStatus
  private let folders: OwnFolders

  init() throws {
    temporary = try TemporaryDirectory()
    try #require(chmod(temporary.path, 0o755) == 0)
    try Data("input".utf8).write(to: temporary.url.appending(path: "input"))
    input = try temporary.open().status(of: "input")
    folders = OwnFolders(Paths(root: temporary.path("root")), storeFolders: [])
  }

  private func folder(_ name: String, mode: mode_t, owner: UInt32 = 0) throws -> String {
    let path = temporary.path(name)
    try #require(mkdir(path, 0o700) == 0 && chown(path, owner, owner) == 0 && chmod(path, mode) == 0)
    return path
  }

  private func output(_ path: String, for user: UserIdentity? = nil, jobID: String = "job") throws -> OutputFile {
    try OutputFile(path: path, jobID: jobID, input: input, submitter: user ?? ann, sparing: folders)
  }

  private func write(_ text: String, to path: String, for user: UserIdentity? = nil) throws {
    let output = try output(path, for: user)
    try text.withCString { try #require(Glibc.write(output.descriptor, $0, strlen($0)) == strlen($0)) }
    try output.publish()
  }

  private func refusal(_ path: String, for user: UserIdentity? = nil) -> String {
    let failure = #expect(throws: JobFailure.self) { _ = try output(path, for: user) }
    #expect(failure?.isPermanent == true)
    return failure?.message ?? ""
  }

  private func content(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

  @Test("A folder that the submitter may not write to is refused, and nothing is left there")
  func foreignFolder() throws {
    let path = try folder("foreign", mode: 0o755)
    #expect(refusal(path + "/new").contains("ann (4001) may not write to the folder \(path); give the right"))
    #expect(try Directory(path: path).entries() == [])
  }

  @Test("The output of a daemon that runs as root belongs to the submitter")
  func givenAway() throws {
    let path = try folder("own", mode: 0o700, owner: 4001)
    try write("new", to: path + "/new")
    let status = try Directory(path: path).status(of: "new")
    #expect(status.owner == 4001 && status.group == 4101)
    #expect(try Directory(path: path).entries() == ["new"])
    try write("newer", to: path + "/new")
    #expect(try content(path + "/new") == "newer")
    let shared = try folder("shared", mode: 0o2770, owner: 4001)
    try write("new", to: shared + "/new")
    let inherited = try Directory(path: shared).status(of: "new")
    #expect(inherited.owner == 4001 && inherited.group == 4001)
  }

  @Test("In a sticky folder only one's own file is replaced")
  func stickyFolder() throws {
    let path = try folder("sticky", mode: 0o1777)
    for (name, owner) in [("own", 4001), ("another's", 4002), ("the daemon's", 0)] as [(String, UInt32)] {
      try Data(name.utf8).write(to: URL(filePath: path + "/" + name))
      try #require(chown(path + "/" + name, owner, owner) == 0)
    }
    try write("new", to: path + "/own")
    #expect(try content(path + "/own") == "new")
    for name in ["another's", "the daemon's"] {
      #expect(refusal(path + "/" + name).contains("sticky bit"))
      #expect(try content(path + "/" + name) == name)
    }
    let open = try folder("open", mode: 0o777)
    try Data().write(to: URL(filePath: open + "/another's"))
    try write("new", to: open + "/another's")
    #expect(try content(open + "/another's") == "new")
  }

  @Test("What the daemon has made for a submitter in a sticky folder is replaced by the same submitter's jobs only")
  func mark() throws {
    let path = try folder("sticky", mode: 0o1777)
    try Data("made for ann".utf8).write(to: URL(filePath: path + "/made"))
    try OutputMark.set(4001, on: FileDescriptor.open(path + "/made", .readingAndWriting))
    let bob = UserIdentity(user: 4002, name: "bob", primaryGroup: 4102, groups: [4102])
    #expect(refusal(path + "/made", for: bob).contains("sticky bit"))
    try write("made again", to: path + "/made")
    #expect(try content(path + "/made") == "made again")
  }

  @Test("A file that another puts in an output's place meanwhile stays, in a sticky folder")
  func replacedMeanwhile() throws {
    let path = try folder("sticky", mode: 0o1777)
    let output = try output(path + "/new")
    try Data("bob's".utf8).write(to: URL(filePath: path + "/new"))
    try #require(chown(path + "/new", 4002, 4002) == 0)
    #expect(throws: JobFailure.self) { try output.publish() }
    #expect(try content(path + "/new") == "bob's")
  }

  @Test("A link, a folder or a FIFO in an output's place stays")
  func noFile() throws {
    let path = try folder("own", mode: 0o700, owner: 4001)
    try #require(symlink("/etc/passwd", path + "/link") == 0)
    try #require(mkfifo(path + "/fifo", 0o666) == 0 && mkdir(path + "/folder", 0o777) == 0)
    for name in ["link", "fifo", "folder"] {
      #expect(refusal(path + "/" + name).hasSuffix("something other than a file is there"))
    }
  }

  @Test("What another puts in the temporary file's place is not taken for the output")
  func exchangedTemporary() throws {
    let path = try folder("own", mode: 0o700, owner: 4001)
    let output = try output(path + "/new")
    let name = try #require(try Directory(path: path).entries().first)
    try #require(unlink("\(path)/\(name)") == 0 && symlink("/etc/shadow", "\(path)/\(name)") == 0)
    #expect(throws: JobFailure.self) { try output.publish() }
    #expect(try !Directory(path: path).contains("new"))
  }

  @Test("A file that is named at the end gets its name and its mode, and not over the input")
  func namedAtTheEnd() throws {
    let path = try folder("own", mode: 0o700, owner: 4001)
    for name in ["one", "two"] {
      let output = try OutputFile(
        path: path + "/{width}", isNamed: false, number: name == "one" ? 1 : 2, mode: 0o640, jobID: "job",
        input: input, submitter: ann, sparing: folders)
      let temporary = try #require(try Directory(path: path).entries().first { $0.description.hasPrefix(".bobbin") })
      // Not even in the making can others read what they are not to read.
      #expect(try Directory(path: path).status(of: temporary).mode == 0o600)
      try output.publish(as: name)
    }
    #expect(try Directory(path: path).entries().sorted() == ["one", "two"])
    var status = stat()
    try #require(stat(path + "/one", &status) == 0)
    #expect(status.st_mode & 0o7777 == 0o640)
    let beside = try OutputFile(
      path: temporary.path("{name}"), isNamed: false, jobID: "job", input: input,
      submitter: UserIdentity(user: 0, name: "root", primaryGroup: 0, groups: [0]), sparing: folders)
    let failure = #expect(throws: JobFailure.self) { try beside.publish(as: "input") }
    #expect(failure?.message.contains("it is the input") == true)
  }

  @Test("A leftover of the same job is replaced; something else under its name is not touched")
  func leftover() throws {
    let path = try folder("own", mode: 0o777, owner: 4001)
    let name = try {
      let output = try output(path + "/new")
      return try withExtendedLifetime(output) { try #require(try Directory(path: path).entries().first) }
    }()
    try Data("left over".utf8).write(to: URL(filePath: "\(path)/\(name)"))
    try write("new", to: path + "/new")
    #expect(try Directory(path: path).entries() == ["new"])
    try Data("bob's".utf8).write(to: URL(filePath: "\(path)/\(name)"))
    try #require(chown("\(path)/\(name)", 4002, 4002) == 0)
    #expect(refusal(path + "/new").contains("it is not a file of the daemon"))
    #expect(try content("\(path)/\(name)") == "bob's")
  }
}
