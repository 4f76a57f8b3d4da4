import Foundation
import TestSupport
import Testing

@testable import Configuration

@Suite("Configuration errors")
struct ConfigurationErrorTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let text: String
    let message: String
    var testDescription: String { String(message.prefix(60)) }

    init(_ text: String, _ message: String) {
      self.text = text
      self.message = message
    }
  }

  @Test("A section of a queue, a type or a preset needs a name", arguments: ["Queue", "Type", "ImagePreset", "Notify"])
  func unnamed(kind: String) throws {
    for text in ["[\(kind) ]\n", "[\(kind)]\n"] {
      let error = #expect(throws: ConfigurationError.self) { try Configuration.parse(text, file: "a.conf") }
      #expect(error?.problems.map(\.code) == [.unknownSection], "\(text)")
    }
    #expect(throws: Never.self) { try Configuration.parse("[\(kind) a]\n", file: "a.conf") }
  }

  @Test(
    "Each mistake is reported with its file, line, section, key and value, and with what is allowed",
    arguments: [
      Case("[Workers]\nCount=0\n", "a.conf:2: [Workers] Count=0: expected a whole number from 1 to 1024"),
      Case(
        "[Workers]\nCount=99999999999999999999\n",
        "a.conf:2: [Workers] Count=99999999999999999999: expected a whole number from 1 to 1024"),
      Case(
        "[Writer]\n\nFlushIntervalSec = fast\n",
        "a.conf:3: [Writer] FlushIntervalSec=fast: expected a time span from 1ms to 1h, such as 250ms, 5s or 1h 30min"),
      Case(
        "[Store]\nExternalDataThreshold=64k\n",
        "a.conf:2: [Store] ExternalDataThreshold=64k: expected a size from 1K to 1G, "
          + "in bytes or with K, M, G or T, such as 64K"),
      Case(
        "[Store]\nUrl=postgresql://bobbin:se/c@ret@db/jobs?password=secret&port=1\n",
        "a.conf:2: [Store] Url=postgresql://bobbin:...@db/jobs?password=...&port=1: expected a URL such as "
          + "postgresql://user@host/database, without a password"),
      Case(
        "[Store]\nurl=postgresql://bobbin:secret@db/jobs\n",
        "a.conf:2: [Store] url=postgresql://bobbin:...@db/jobs: unknown key; did you mean Url?"),
      Case(
        "[Status]\nReadAccess=nobody\n",
        "a.conf:2: [Status] ReadAccess=nobody: expected one of everyone, group, owner"),
      Case(
        "[Status]\nQueryTimeoutSec=0\n",
        "a.conf:2: [Status] QueryTimeoutSec=0: expected a time span from 1ms to 4min, such as 250ms, 5s or 1h 30min"),
      Case(
        "[Log]\nLevel=info # chatty\n",
        "a.conf:2: [Log] Level=info # chatty: expected one of error, warning, notice, info, debug"),
      Case("[Workers]\ncuont=4\n", "a.conf:2: [Workers] cuont=4: unknown key; did you mean Count?"),
      Case("[Workers]\nTimeoutSec=4\n", "a.conf:2: [Workers] TimeoutSec=4: unknown key; TimeoutSec belongs to [Image]"),
      Case(
        "[Type a]\nMaxAttempts=1001\n", "a.conf:2: [Type a] MaxAttempts=1001: expected a whole number from 0 to 1000"),
      Case("[Workers]\n=4\n", "a.conf:2: [Workers] =4: unknown key; did you mean Count?"),
      Case(
        "# first\n[Wirter]\nAnything=1\nElse=2\n",
        "a.conf:2: [Wirter]: unknown section; did you mean [Writer]? "
          + "There are Spool, Workers, Writer, Store, Fleet, Import, Image, Jobs, Retention, Status, Log, Queue NAME, Type NAME, "
          + "ImagePreset NAME, Notify NAME"
      ),
      Case(
        "[Workers] ]\nCount=0\n",
        "a.conf:1: [Workers] ]: unknown section; did you mean [Workers]? "
          + "There are Spool, Workers, Writer, Store, Fleet, Import, Image, Jobs, Retention, Status, Log, Queue NAME, Type NAME, "
          + "ImagePreset NAME, Notify NAME"
      ),
      Case("Level=debug\n", "a.conf:1: Level=debug: stands before any section; put a line such as [Log] above it"),
      Case("[Log]\nLevel debug\n", "a.conf:2: 'Level debug' is not an assignment; expected Key=Value"),
      Case("[Log\nLevel=x\n", "a.conf:1: '[Log' is not a section; expected a name in brackets, such as [Writer]"),
      Case("[Log] x\n", "a.conf:1: '[Log] x' is not a section; expected a name in brackets, such as [Writer]"),
      Case("[]\n", "a.conf:1: '[]' is not a section; expected a name in brackets, such as [Writer]"),
      Case(
        "[Log]\nLevel=debug ; chatty\n",
        "a.conf:2: a comment after a value in 'Level=debug ; chatty'; put comments on lines of their own"),
      Case(
        "[Log]\nLevel=de\0bug\n",
        "a.conf:2: not UTF-8 text, or it has control characters; save the file as plain UTF-8"),
      Case(
        "[Log]\nLevel=de\u{1B}[31mbug\n",
        "a.conf:2: not UTF-8 text, or it has control characters; save the file as plain UTF-8"),
    ])
  func reports(_ expected: Case) {
    let error = #expect(throws: ConfigurationError.self) { try Configuration.parse(expected.text, file: "a.conf") }
    #expect(error?.description == expected.message)
  }

  @Test("All mistakes of all files are reported at once, in their order")
  func reportsAll() throws {
    let folder = try TemporaryFolder()
    let main = try folder.write("[Workers]\nCount=none\nSpeed\n[Wokers]\n", to: "etc/bobbin.conf")
    let dropIn = try folder.write("[Jobs]\nMaxAttempts=-1", to: "etc/bobbin.conf.d/10.conf")
    let error = #expect(throws: ConfigurationError.self) {
      try Configuration.load(Paths(root: folder.path))
    }
    #expect(
      error?.problems.map { "\($0.code.rawValue) \($0.file):\($0.line ?? 0)" } == [
        "invalid-value \(main):2", "missing-assignment \(main):3", "unknown-section \(main):4",
        "invalid-value \(dropIn):2",
      ])
  }

  @Test("Where a preset stands is known, so that what is wrong with all of it can be told there")
  func presetPlaces() throws {
    let folder = try TemporaryFolder()
    let main = try folder.write("[ImagePreset a]\nWidth=9\n\n[ImagePreset b c]\nWidth=9\n", to: "etc/bobbin.conf")
    let dropIn = try folder.write("\n[ImagePreset a]\nHeight=9\n", to: "etc/bobbin.conf.d/10.conf")
    let configuration = try Configuration.load(Paths(root: folder.path))
    #expect(
      configuration.sectionPlaces == [
        "ImagePreset a": SectionPlace(file: dropIn, line: 2), "ImagePreset b c": SectionPlace(file: main, line: 4),
      ])
  }

  @Test("A wrong value is reported even if a later assignment replaces it")
  func reportsReplacedValue() {
    let error = #expect(throws: ConfigurationError.self) { try Configuration.parse("[Workers]\nCount=x\nCount=4") }
    #expect(error?.problems.map(\.line) == [2])
  }

  @Test("Bytes that are not UTF-8 are reported by line, without showing them")
  func reportsInvalidEncoding() {
    var parser = ConfigurationParser()
    parser.parse(Array("[Log]\nLevel=".utf8) + [0xFF, 0xFE, 10] + Array("Level=loud".utf8), file: "a.conf")
    #expect(parser.problems.map(\.code) == [.invalidText, .invalidValue])
    #expect(parser.problems.map(\.line) == [2, 3])
  }

  @Test("A line as long as the limit is read whole; a longer one is reported, not cut", arguments: [0, 1, 500])
  func limitsLines(excess: Int) throws {
    let limit = 198
    let value = String(repeating: "x", count: limit - "Level=".utf8.count + excess)
    let error = #expect(throws: ConfigurationError.self) { try Configuration.parse("[Log]\nLevel=\(value)\n") }
    let problem = try #require(error?.problems.first)
    #expect(error?.problems.count == 1)
    if excess == 0 {
      #expect(problem.code == .invalidValue)
      #expect(problem.value == value)
    } else {
      #expect(problem.description == "bobbin.conf:2: the line is longer than \(limit) bytes; shorten it")
    }
  }

  @Test("A long section name is reported whole")
  func reportsLongSection() {
    let name = "Log" + String(repeating: "g", count: 100)
    let error = #expect(throws: ConfigurationError.self) { try Configuration.parse("[\(name)]\nLevel=loud\n") }
    #expect(error?.problems.map(\.section) == [name])
  }

  @Test("A file, or a folder of files, to which everybody may write is not used")
  func writableByAll() throws {
    let folder = try TemporaryFolder()
    let handler = try folder.write("[Handler]\nType=x\nExecStart=/bin/true\n", to: "handlers.d/x.conf")
    let handlers = folder.path + "/handlers.d"
    for path in [handler, handlers] {
      #expect(throws: Never.self) { try HandlerDefinition.load(folder: handlers, builtInTypes: []) }
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
      try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: path)
      let error = #expect(throws: ConfigurationError.self) {
        try HandlerDefinition.load(folder: handlers, builtInTypes: [])
      }
      #expect(error?.description == "\(path): is not used: every user may write to it; try chmod o-w")
      try FileManager.default.setAttributes([.posixPermissions: mode ?? 0o755], ofItemAtPath: path)
    }
  }

  @Test(
    "A file, or a folder of files, of another user than root and one's own is not used",
    .enabled(if: SkipReason.runsAsRoot()))
  func untrusted() throws {
    let folder = try TemporaryFolder()
    let handler = try folder.write("[Handler]\nType=x\nExecStart=/bin/true\n", to: "handlers.d/x.conf")
    let handlers = folder.path + "/handlers.d"
    for path in [handler, handlers] {
      try FileManager.default.setAttributes([.ownerAccountID: 4009], ofItemAtPath: path)
      let error = #expect(throws: ConfigurationError.self) {
        try HandlerDefinition.load(folder: handlers, builtInTypes: [])
      }
      #expect(
        error?.description == "\(path): is not used: it belongs to user 4009, not to root or the daemon's user")
      try FileManager.default.setAttributes([.ownerAccountID: 0], ofItemAtPath: path)
    }
    #expect(throws: Never.self) { try HandlerDefinition.load(folder: handlers, builtInTypes: []) }
    // A tool of root's reads what another user's daemon reads.
    let main = try folder.write("[Log]\nLevel=debug\n", to: "etc/bobbin.conf")
    _ = try folder.write("", to: "state/bobbin.sqlite")
    for path in [main, folder.path + "/state"] {
      try FileManager.default.setAttributes([.ownerAccountID: 4009], ofItemAtPath: path)
    }
    let owned = Paths(root: folder.path)
    #expect(throws: ConfigurationError.self) { try Configuration.load(owned) }
    #expect(try Configuration.load(owned, ofUser: owned.owner).log.level == .debug)
    for path in [main, folder.path + "/state"] {
      try FileManager.default.setAttributes([.ownerAccountID: 0], ofItemAtPath: path)
    }
    // Nor is a root whose state, with the jobs in it, is somebody else's.
    let paths = Paths(root: folder.path)
    #expect(throws: Never.self) { try paths.checkOwners(ofRoot: folder.path) }
    for path in [folder.path, paths.state] {
      try FileManager.default.setAttributes([.ownerAccountID: 4009], ofItemAtPath: path)
      let error = #expect(throws: ConfigurationError.self) { try paths.checkOwners(ofRoot: folder.path) }
      #expect(error?.description.hasPrefix("\(path): is not used: it belongs to user 4009") == true)
      try FileManager.default.setAttributes([.ownerAccountID: 0], ofItemAtPath: path)
    }
  }

  @Test("A file that is a folder, unreadable in kind or too large is reported by its path")
  func reportsUnreadableFiles() throws {
    let folder = try TemporaryFolder()
    let large = try folder.write(String(repeating: "#", count: 1 << 20) + "\n", to: "large.conf")
    for (path, reason) in [
      (folder.path, "it is not a regular file"), ("/dev/null", "it is not a regular file"),
      (large, "it is larger than 1 MiB"), (large + "/below", "Not a directory"),
    ] {
      let error = #expect(throws: ConfigurationError.self) {
        try Configuration.load(Paths(root: folder.path), mainFile: path)
      }
      #expect(error?.description == "\(path): can't be read: \(reason)")
    }
    for name in ["bobbin.conf.d", "notify.d"] {
      let root = try TemporaryFolder()
      let file = try root.write("", to: "etc/" + name)
      let error = #expect(throws: ConfigurationError.self) { try Configuration.load(Paths(root: root.path)) }
      #expect(error?.problems.map(\.code) == [.unreadableFile])
      #expect(error?.problems.map(\.file) == [file])
    }
  }
}
