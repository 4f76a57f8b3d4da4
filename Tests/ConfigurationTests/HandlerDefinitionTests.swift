import FoundationEssentials
import Testing

@testable import Configuration

@Suite("Handler definitions")
struct HandlerDefinitionTests {
  private func parsed(_ text: String) throws -> HandlerDefinition {
    let (definition, problems) = HandlerDefinition.parse(Array(text.utf8), file: "a.conf")
    try #require(problems.isEmpty, "\(problems)")
    return definition
  }

  private func problems(_ text: String) -> [String] {
    HandlerDefinition.parse(Array(text.utf8), file: "a.conf").1.map(\.description)
  }

  private static let least = "[Handler]\nType=report.render\nExecStart=/bin/true\n"

  @Test("Type and program are enough; everything else has its default")
  func least() throws {
    let definition = try parsed(Self.least)
    #expect(definition.type == "report.render")
    #expect(definition.command.executable == "/bin/true")
    #expect(definition.timeout == .seconds(3600))
    #expect(definition.killGrace == .seconds(10))
    #expect(definition.maxAttempts == nil && definition.concurrency == nil && definition.user == nil)
    #expect(definition.memoryMax == nil && definition.openFilesMax == 1024 && definition.fileModeMask == 0o027)
    #expect(!definition.declaresArguments)
  }

  @Test("Every key is read")
  func everyKey() throws {
    let definition = try parsed(
      Self.least + """
        WorkingDirectory=/srv
        Environment=A=1 "B=two words" C=x=y
        Environment='D=it is'
        PassEnvironment=TZ http_proxy
        UMask=077
        User=nobody
        Nice=10
        TimeoutSec=5min
        KillGraceSec=0
        Exclusive=yes
        MaxAttempts=7
        Concurrency=2
        MemoryMax=1G
        CPUTimeMax=30s
        FileSizeMax=10M
        OpenFilesMax=64
        LogSizeMax=32K
        OutputLineMax=2M
        InsertSizeMax=1M
        RequiredArguments=input:path title
        OptionalArguments=pages:integer

        """)
    #expect(definition.workingDirectory == "/srv")
    #expect(definition.environment == ["A": "1", "B": "two words", "C": "x=y", "D": "it is"])
    #expect(definition.passedEnvironment == ["TZ", "http_proxy"])
    #expect(definition.fileModeMask == 0o077 && definition.user == "nobody" && definition.niceness == 10)
    #expect(definition.timeout == .seconds(300) && definition.killGrace == .zero && definition.isExclusive)
    #expect(definition.maxAttempts == 7 && definition.concurrency == 2)
    #expect(definition.memoryMax == 1 << 30 && definition.processorTimeMax == .seconds(30))
    #expect(definition.fileSizeMax == 10 << 20 && definition.openFilesMax == 64)
    #expect(definition.logSizeMax == 32 << 10 && definition.outputLineMax == 2 << 20)
    #expect(definition.insertSizeMax == 1 << 20)
    #expect(definition.requiredArguments.map(\.name) == ["input", "title"])
    #expect(definition.requiredArguments.map(\.kind) == [.path, .any])
    #expect(definition.optionalArguments.map(\.kind) == [.integer])
    let service = try parsed("[Handler]\nType=mail\nConnect=/run/bobbin/handlers/mail.sock\n")
    #expect(service.socket == "/run/bobbin/handlers/mail.sock" && definition.socket == nil)
    let keys = Set(HandlerDefinition.keys.map(\.name))
    #expect(Set(definition.assignments.keys) == keys.subtracting(["Connect"]))
  }

  @Test("An empty assignment takes back earlier ones, and infinity lifts a limit")
  func emptyAssignment() throws {
    let definition = try parsed(Self.least + "Environment=A=1\nEnvironment=\nNice=3\nNice=\nTimeoutSec=infinity\n")
    #expect(definition.environment.isEmpty && definition.niceness == nil && definition.timeout == nil)
    #expect(
      problems(Self.least + "ExecStart=\n") == ["a.conf: [Handler] ExecStart or Connect: is missing, but required"])
  }

  @Test(
    "A command line is split as systemd splits it, without a shell",
    arguments: [
      ("/bin/a b  c", ["b", "c"]), ("/bin/a \"b c\" 'd \"e\"'", ["b c", "d \"e\""]),
      ("/bin/a b\\ c".replacing("\\ ", with: "\\s"), ["b c"]), ("/bin/a x\"y z\"", ["xy z"]),
      ("/bin/a '' \"\"", ["", ""]),
      ("/bin/a $HOME | > `x` *", ["$HOME", "|", ">", "`x`", "*"]),
      ("/bin/a \\\"b\\\" \\\\ \\t", ["\"b\"", "\\", "\t"]),
      ("/bin/a %i-%a %q %p %%i", ["7-2", "mail", "/pay load", "%i"]), ("/bin/a\t-b", ["-b"]),
    ] as [(String, [String])])
  func commandLine(line: String, expected: [String]) throws {
    let command = try CommandTemplate(line)
    #expect(command.executable == "/bin/a")
    let arguments = command.arguments { specifier in
      switch specifier {
      case .id: "7"
      case .attempt: "2"
      case .queue: "mail"
      case .payload: "/pay load"
      }
    }
    #expect(arguments == expected)
  }

  @Test(
    "Each mistake is told with file, line and key, and with what is allowed",
    arguments: [
      ("ExecStart=true", "expected the program's absolute path and its arguments; no shell reads it"),
      ("ExecStart=/bin/%i", "expected the program's absolute path and its arguments; no shell reads it"),
      ("ExecStart=/bin/sh \"-c", "has a quote \" that is not closed"),
      ("ExecStart=/bin/sh \\q", "has the unknown escape \\q; there are \\\\, \\\", \\', \\n, \\t and \\s"),
      ("ExecStart=/bin/sh %z", "has the unknown specifier %z; there are %i, %a, %q, %p, and %% for %"),
      ("Type=a b", "expected 1 to 100 letters, digits, dots, hyphens and underscores, such as report.render"),
      ("Connect=mail.sock", "expected an absolute path"),
      ("WorkingDirectory=here", "expected an absolute path"),
      ("Environment=A", "expected assignments such as \"NAME=value\" OTHER=value"),
      ("UMask=9", "expected an octal number from 0 to 777"),
      ("Nice=20", "expected a whole number from -20 to 19"),
      ("Concurrency=0", "expected a whole number from 1 to 1024"),
      ("MemoryMax=lots", "expected a size from 1M to 1T, in bytes or with K, M, G or T, such as 64K; or infinity"),
      (
        "RequiredArguments=a:text",
        "expected names of arguments, each with an optional kind, such as \"input:path title\"; kinds are any, string, "
          + "integer, number, boolean, array, object, path"
      ),
      ("OptionalArguments=a a", "the argument \"a\" occurs twice"),
      ("Timeout=3", "unknown key; did you mean TimeoutSec?"),
    ])
  func mistakes(assignment: String, message: String) {
    #expect(problems(Self.least + assignment) == ["a.conf:4: [Handler] \(assignment): \(message)"])
  }

  @Test("An exclusive program has half a second to end, and may have less, but not more")
  func exclusive() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/handlers.d"
    func killGrace(_ text: String) throws -> Duration? {
      try folder.write(Self.least + text, to: "handlers.d/1.conf")
      return try HandlerDefinition.load(folder: path).first?.killGrace
    }
    #expect(try killGrace("") == .seconds(10))
    #expect(try killGrace("Exclusive=yes") == .milliseconds(500))
    #expect(try killGrace("Exclusive=yes\nKillGraceSec=100ms") == .milliseconds(100))
    let error = #expect(throws: ConfigurationError.self) { try killGrace("Exclusive=yes\nKillGraceSec=1s") }
    #expect(error?.problems.first?.description.contains("KillGraceSec=1s: is more than 500ms") == true)
  }

  @Test("Beside Connect every key is refused that only a program has which the daemon starts")
  func service() throws {
    let folder = try TemporaryFolder()
    let keys = [
      "WorkingDirectory=/", "Environment=A=1", "PassEnvironment=A", "UMask=077", "User=nobody", "Nice=1",
      "KillGraceSec=0", "Exclusive=yes", "MemoryMax=1G", "CPUTimeMax=1min", "FileSizeMax=1M", "OpenFilesMax=64",
    ]
    let others = "TimeoutSec=1min\nMaxAttempts=2\nConcurrency=4\nLogSizeMax=1K\nRequiredArguments=to\n"
    let start = "[Handler]\nType=mail\nConnect=/run/mail.sock\n"
    try folder.write(start + others, to: "handlers.d/1.conf")
    let path = folder.path + "/handlers.d"
    #expect(try HandlerDefinition.load(folder: path).first?.socket == "/run/mail.sock")
    try folder.write(start + keys.joined(separator: "\n"), to: "handlers.d/1.conf")
    try folder.write("[Handler]\nType=b\nExecStart=/bin/true\nNice=1\nConnect=/run/b.sock\n", to: "handlers.d/2.conf")
    let error = #expect(throws: ConfigurationError.self) { try HandlerDefinition.load(folder: path) }
    let words = "is for a program that ExecStart starts; with Connect the unit of the service says it"
    let expected = keys.enumerated().map { "\(path)/1.conf:\($0.offset + 4): [Handler] \($0.element): \(words)" }
    #expect(
      error?.problems.map(\.description) == expected + [
        "\(path)/2.conf:5: [Handler] Connect=/run/b.sock: stands beside ExecStart; a type is served by a program or by a "
          + "service, not by both"
      ])
  }

  @Test("What belongs to no section, or to another, is told; so is what is missing")
  func sections() {
    #expect(
      problems("Type=x\n[Service]\nExecStart=/bin/true\n") == [
        "a.conf:1: Type=x: stands before any section; put a line [Handler] above it",
        "a.conf:2: [Service]: unknown section; a handler's file has the section [Handler]",
        "a.conf: [Handler] ExecStart or Connect: is missing, but required",
      ])
  }

  @Test("The sample holds every key, in order, with its default and its range")
  func sample() throws {
    let url = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../etc/handlers.d/handler.conf.sample")
    let text = try String(contentsOf: url.standardized, encoding: .utf8)
    let lines = text.split(separator: "\n").map {
      $0.hasPrefix("#") && !$0.hasPrefix("# ") && $0 != "#" ? $0.dropFirst() : $0
    }
    var expected = try parsed(lines.prefix { !$0.hasPrefix("Connect") }.joined(separator: "\n"))
    var sample = try parsed(lines.joined(separator: "\n"))
    expected.assignments = [:]
    sample.assignments = [:]
    #expect(sample.killGrace == HandlerDefinition(file: "").killGrace)
    sample.givenKillGrace = nil
    #expect(sample == expected)
    let keys = lines.filter { !$0.hasPrefix("#") && $0.contains("=") }.map { String($0.prefix { $0 != "=" }) }
    #expect(keys == HandlerDefinition.keys.map(\.name))
    for key in HandlerDefinition.keys {
      var definition = HandlerDefinition(file: "")
      guard let problem = key.assign("?", &definition), let range = problem.firstRange(of: "from ") else { continue }
      let words = problem[range.upperBound...].prefix { $0 != "," && $0 != ";" }
      if key.name == "UMask" { continue }
      let index = try #require(lines.firstIndex { $0.hasPrefix(key.name + "=") })
      #expect(lines[index - 1].contains("From \(words)"), "\(key.name): \(words)")
    }
  }

  @Test("A folder's files are read in order; two of one type, and built-in types, are refused")
  func folder() throws {
    let folder = try TemporaryFolder()
    #expect(try HandlerDefinition.load(folder: folder.path + "/none").isEmpty)
    try folder.write("[Handler]\nType=b\nExecStart=/bin/true\n", to: "handlers.d/2.conf")
    try folder.write("[Handler]\nType=a\nExecStart=/bin/true\n", to: "handlers.d/1.conf")
    try folder.write("not read", to: "handlers.d/1.conf.bak")
    let path = folder.path + "/handlers.d"
    #expect(try HandlerDefinition.load(folder: path).map(\.type) == ["a", "b"])
    try folder.write("[Handler]\nExecStart=/bin/true\nType=b\n", to: "handlers.d/3.conf")
    try folder.write("[Handler]\nType=noop\nExecStart=/bin/true\nSpeed=1\n", to: "handlers.d/4.conf")
    let error = #expect(throws: ConfigurationError.self) {
      try HandlerDefinition.load(folder: path, builtInTypes: ["noop"])
    }
    #expect(
      error?.problems.map(\.description) == [
        "\(path)/3.conf:3: [Handler] Type=b: is declared in \(path)/2.conf already",
        "\(path)/4.conf:4: [Handler] Speed=1: unknown key; did you mean Type?",
        "\(path)/4.conf:2: [Handler] Type=noop: is a built-in type; choose another name",
      ])
  }
}
