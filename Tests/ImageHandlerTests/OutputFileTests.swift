import Configuration
import Foundation
import Glibc
import Jobs
import ObjectGraph
import ObjectModel
import SystemSupport
import TestSupport
import Testing

@testable import ImageHandler

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
    let paths = Paths(root: temporary.path("root"))
    folders = OwnFolders(
      trees: paths.ownTrees, others: paths.ownPlaces,
      storeOf: PersistentStoreCoordinator(model: try ManagedObjectModel([])))
  }

  private func folder(_ name: String, mode: mode_t, owner: UInt32 = 0) throws -> String {
    let path = temporary.path(name)
    try #require(mkdir(path, 0o700) == 0 && chown(path, owner, owner) == 0 && chmod(path, mode) == 0)
    return path
  }

  private func output(
    _ path: String, for user: UserIdentity? = nil, mode: UInt32 = 0o644, avoidsUnnamedFiles: Bool = false,
    isRepeated: Bool = false
  ) throws -> OutputFile {
    try OutputFile(
      path: path, mode: mode, avoidsUnnamedFiles: avoidsUnnamedFiles, isRepeated: isRepeated, input: input,
      submitter: user ?? ann, sparing: folders)
  }

  private func write(_ text: String, to path: String, for user: UserIdentity? = nil, mode: UInt32 = 0o644) throws {
    let output = try output(path, for: user, mode: mode)
    try text.withCString { try #require(Glibc.write(output.descriptor, $0, strlen($0)) == strlen($0)) }
    try output.publish()
  }

  private func refusal(_ path: String, for user: UserIdentity? = nil) -> String {
    let failure = #expect(throws: JobFailure.self) { _ = try output(path, for: user) }
    #expect(failure?.isPermanent == true)
    return failure?.message ?? ""
  }

  private func content(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

  @Test("A file is not put into its place once its attempt may not be the job's any more, and nothing is left of it")
  func lostLease() throws {
    let path = try folder("shared", mode: 0o777)
    try write("by another host", to: path + "/out")
    for avoidsUnnamedFiles in [false, true] {
      let late = try output(path + "/out", avoidsUnnamedFiles: avoidsUnnamedFiles)
      #expect(throws: CancellationError.self) { try late.publish { throw CancellationError() } }
    }
    #expect(try content(path + "/out") == "by another host")
    #expect(try Directory(path: path).entries() == ["out"])
  }

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
    // A web server in the folder's group reads it, and nobody else.
    for path in [shared + "/private", path + "/private"] {
      try write("new", to: path, mode: 0o640)
      #expect(try FileDescriptor.open(path).status().mode & 0o7777 == 0o640)
    }
    #expect(try Directory(path: shared).status(of: "private").group == 4001)
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
    let output = try output(path + "/new", avoidsUnnamedFiles: true)
    let name = try #require(try Directory(path: path).entries().first)
    try #require(unlink("\(path)/\(name)") == 0 && symlink("/etc/shadow", "\(path)/\(name)") == 0)
    #expect(throws: JobFailure.self) { try output.publish() }
    #expect(try !Directory(path: path).contains("new"))
  }

  @Test("An output in the making has no name: nobody takes its place, and nothing is left of one that is given up")
  func unnamed() throws {
    let path = try folder("own", mode: 0o700, owner: 4001)
    for text in ["first", "second"] {
      let output = try output(path + "/new")
      try #require(Glibc.write(output.descriptor, text, strlen(text)) == strlen(text))
      #expect(try Directory(path: path).entries() == (text == "first" ? [] : ["new"]))
      try output.publish()
      #expect(try content(path + "/new") == text)
    }
    _ = try output(path + "/other")
    #expect(try Directory(path: path).entries() == ["new"])
  }

  @Test("A file that is named at the end gets its name and its mode, and not over the input")
  func namedAtTheEnd() throws {
    let path = try folder("own", mode: 0o700, owner: 4001)
    for name in ["one", "two"] {
      let output = try OutputFile(
        path: path + "/{width}", isNamed: false, mode: 0o640, avoidsUnnamedFiles: true, input: input, submitter: ann,
        sparing: folders)
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
      path: temporary.path("{name}"), isNamed: false, input: input,
      submitter: UserIdentity(user: 0, name: "root", primaryGroup: 0, groups: [0]), sparing: folders)
    let failure = #expect(throws: JobFailure.self) { try beside.publish(as: "input") }
    #expect(failure?.message.contains("it is the input") == true)
  }

  @Test("Root's jobs write nothing into the daemon's own folders, nor into folders that lie in them")
  func ownFolders() throws {
    let paths = Paths(root: temporary.path("root"))
    let root = UserIdentity(user: 0, name: "root", primaryGroup: 0, groups: [0])
    let own = [
      paths.spool, paths.spoolNew, paths.spoolTemporary, paths.spoolCurrent, paths.spoolFailed, paths.state,
      paths.keptPictures + "/inner", paths.configuration, paths.handlers, paths.socketFolder,
      paths.models + "/Test.xcdatamodeld", paths.models + "/Test.xcdatamodeld/Test.xcdatamodel",
    ]
    for folder in own + [paths.payload + "/inner"] {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }
    for folder in own {
      #expect(refusal(folder + "/x.png", for: root).hasSuffix("the folder is the daemon's own"), "\(folder)")
    }
    for folder in [paths.payload, paths.payload + "/inner", temporary.path("root")] {
      try write("new", to: folder + "/x.png", for: root)
    }
  }

  @Test("Another attempt removes what interrupted ones left; what is at work and what others have put there stays")
  func leftover() throws {
    let path = try folder("own", mode: 0o777, owner: 4001)
    let atWork = try output(path + "/other", avoidsUnnamedFiles: true)
    let working = try #require(try Directory(path: path).entries().first)
    for (name, owner) in [("1", 0), ("2", 4001), ("3", 4002)] as [(String, UInt32)] {
      try Data("left over".utf8).write(to: URL(filePath: "\(path)/.bobbin-\(name).tmp"))
      try #require(chown("\(path)/.bobbin-\(name).tmp", owner, owner) == 0)
    }
    try #require(mkdir(path + "/.bobbin-folder.tmp", 0o777) == 0)
    try #require(symlink("/etc/passwd", path + "/.bobbin-link.tmp") == 0)
    let output = try output(path + "/new", avoidsUnnamedFiles: true, isRepeated: true)
    #expect(try Directory(path: path).entries().filter { $0.description.hasPrefix(".bobbin-") }.count == 5)
    try output.publish()
    let left = try Directory(path: path).entries().sorted()
    #expect(
      left == ([working, ".bobbin-3.tmp", ".bobbin-folder.tmp", ".bobbin-link.tmp", "new"] as [FileName]).sorted())
    try atWork.publish()
    #expect(try Directory(path: path).contains("other"))
  }

  @Test("A temporary name is another each time, so that nobody can take it before")
  func unpredictable() throws {
    let path = try folder("shared", mode: 0o1777)
    var names: Set<FileName> = []
    for _ in 0..<10 {
      let output = try output(path + "/new", avoidsUnnamedFiles: true)
      try withExtendedLifetime(output) {
        let name = try #require(try Directory(path: path).entries().first { $0.description.hasPrefix(".bobbin") })
        #expect(names.insert(name).inserted)
      }
      // As somebody would who has seen the name and expects it again.
      for name in names { _ = mkdir("\(path)/\(name)", 0o777) }
      try output.publish()
      for name in names { _ = rmdir("\(path)/\(name)") }
    }
  }
}
