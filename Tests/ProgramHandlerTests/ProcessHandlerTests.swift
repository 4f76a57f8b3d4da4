import Foundation
import JSONText
import Jobs
import SystemSupport
import TestSupport
import Testing

@testable import ProgramHandler

@Suite("A process handler")
struct ProcessHandlerTests {
  @Test("The program reads the job, and its arguments, environment, folder and rights are as documented")
  func start() async throws {
    let fixture = try ProcessFixture(
      """
      cat > job; printf '%s\\n' "$@" > arguments; env > environment; pwd > folder; umask > mask
      ls -l /proc/self/fd > descriptors; cut -d' ' -f5,6 /proc/$$/stat > group; echo $$ >> group
      echo '{"result": {"pages": 3}}'
      """, "Environment=COLOUR=blue\nPassEnvironment=NOT_THERE\nUMask=027")
    let result = try await fixture.run(arguments: ["input": "a.txt", "list": [1, 2.5]], attempt: 2)
    #expect(result == ["pages": 3])
    #expect(
      try fixture.text(of: "job") == """
        {"version":1,"id":"job 1","type":"shell","queue":"default","priority":7,"attempt":2,"maxAttempts":3,\
        "submitter":1000,"arguments":{"input":"a.txt","list":[1,2.5]},"payload":"\(fixture.directory.path)","cursor":null,\
        "after":[],"batch":null,"traceparent":null,"tracestate":null}

        """)
    #expect(try fixture.text(of: "arguments") == "job 1\n")
    #expect(try fixture.text(of: "folder") == fixture.directory.path + "\n")
    #expect(try fixture.text(of: "mask") == "0027\n")
    let variables = Set(try fixture.text(of: "environment").split(separator: "\n").map { $0.prefix { $0 != "=" } })
    // The shell adds the last three itself.
    #expect(
      variables.subtracting(["PWD", "OLDPWD", "SHLVL", "_"]) == [
        "PATH", "HOME", "LANG", "COLOUR", "BOBBIN_JOB_ID", "BOBBIN_JOB_TYPE", "BOBBIN_ATTEMPT",
        "BOBBIN_STATE",
      ])
    #expect(try fixture.text(of: "environment").contains("BOBBIN_JOB_ID=job 1\n"))
    let open = try fixture.text(of: "descriptors").split(separator: "\n").compactMap {
      try /([0-9]+) -> (.+)$/.firstMatch(in: $0)?.output
    }.filter { !$0.2.hasPrefix("/proc/") }
    #expect(open.map(\.1).sorted() == ["0", "1", "2"])
    let group = try fixture.text(of: "group").split(whereSeparator: \.isWhitespace)
    #expect(Set(group).count == 1)
  }

  @Test("Objects are inserted with values of every type, and the log keeps the other output")
  func inserts() async throws {
    let fixture = try ProcessFixture(
      #"""
      echo to the log; echo and errors >&2
      echo '{"insert": {"entity": "Reading", "values": {"number": 1, "note": "short", "when": "2026-11-21T10:00:00Z"}}}'
      echo '{"insert": [{"entity": "Reading", "values": {"number": 2.0, "data": "AAEC", "price": "1.10"}},'\
      ' {"entity": "Reading", "values": {"number": 3, "flag": true, "key": "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"}}]}'
      echo '{"progress": {"done": 3, "unit": "rows"}, "log": "said so"}'
      printf '{"insert": {"entity": "Reading", "values": {"number": 4}}}'
      """#)
    #expect(try await fixture.run() == .object([:]))
    #expect(try await fixture.numbers() == [1, 2, 3, 4])
    #expect(fixture.progress == JobProgress(done: 3, unit: "rows"))
    let lines = Set(fixture.log.split(separator: "\n"))
    #expect(lines == ["to the log", "and errors", "said so"])
  }

  @Test("What a failed attempt inserted is dropped")
  func dropped() async throws {
    let fixture = try ProcessFixture(
      #"echo '{"insert": {"entity": "Reading", "values": {"number": 1}}}'; exit 1"#)
    #expect(try await fixture.failure()?.message.contains("exited with code 1") == true)
    #expect(try await fixture.numbers() == [])
  }

  @Test(
    "Objects that the model does not allow fail the attempt, with line, entity and attribute",
    arguments: [
      (
        #"{"entity": "Reading", "values": {"numbr": 1}}"#,
        #"the entity "Reading" has no attribute "numbr"; did you mean "number"?"#
      ),
      (#"{"entity": "Readng", "values": {}}"#, #"there is no entity "Readng"; did you mean "Reading"?"#),
      (
        #"{"entity": "Job", "values": {"id": "x"}}"#,
        #"the entity "Job" is the daemon's own; insert into one of models/"#
      ),
      (
        #"{"entity": "Unique", "values": {}}"#,
        #"the entity "Unique" has a uniqueness constraint, which inserts of this version can't resolve"#
      ),
      (#"{"entity": "Shape", "values": {}}"#, #"the entity "Shape" is abstract, so that it has no objects"#),
      (
        #"{"entity": "Reading", "values": {"number": 40000}}"#,
        #""Reading.number" must be a whole number of 16 bits, not 40000"#
      ),
      (
        #"{"entity": "Reading", "values": {"number": "7"}}"#,
        #""Reading.number" must be a whole number of 16 bits, not "7""#
      ),
      (
        #"{"entity": "Reading", "values": {"number": 1, "when": "soon"}}"#,
        #""Reading.when" must be a date as "2026-11-21T10:00:00Z", not "soon""#
      ),
      (
        #"{"entity": "Reading", "values": {"number": 1, "flag": [1]}}"#,
        #""Reading.flag" must be true or false, not an array"#
      ),
      (#"{"entity": "Reading", "values": {"note": "x"}}"#, "Reading.number is required, but is nil"),
      (
        #"{"entity": "Reading", "values": {"number": 1, "note": "too long"}}"#,
        "Reading.note has 8 characters, more than 5"
      ),
    ])
  func wrongObjects(insert: String, message: String) async throws {
    let fixture = try ProcessFixture("echo first; echo '{\"insert\": \(insert)}'; sleep 60")
    let failure = try await fixture.failure()
    #expect(
      failure?.message.hasPrefix("the program /bin/sh: line 2 of its output: \(message)") == true,
      "\(failure?.message ?? "")")
    #expect(failure?.isPermanent == true)
    #expect(try await fixture.numbers() == [])
  }

  @Test("A wrong message ends the program at once, and is in the log")
  func wrongMessage() async throws {
    let fixture = try ProcessFixture(#"echo one; echo '{"progres": {}, "log": "x"}'; sleep 60"#)
    let failure = try await fixture.failure(seconds: 20)
    let expected =
      #"the program /bin/sh: line 2 of its output: "progres" is not a key of a message; did you mean "progress"?"#
    #expect(failure?.message.hasPrefix(expected) == true, "\(failure?.message ?? "")")
    #expect(fixture.log == "one\n{\"progres\": {}, \"log\": \"x\"}\n")
  }

  @Test("A checkpoint keeps objects and cursor, the next attempt gets it, and giving up takes all back")
  func checkpoints() async throws {
    let fixture = try ProcessFixture(
      #"""
      cat > job$BOBBIN_ATTEMPT
      for n in 1 2 3; do echo '{"insert": {"entity": "Reading", "values": {"number": '$n'}}}'; done
      echo '{"checkpoint": "page 3"}'
      echo '{"insert": {"entity": "Reading", "values": {"number": 4}}}'
      exit 75
      """#)
    #expect(try await fixture.failure()?.isPermanent == false)
    #expect(try await fixture.numbers() == [1, 2, 3])
    let cursor = try #require(try await fixture.cursor())
    await #expect(throws: JobFailure.self) { try await fixture.run(cursor: cursor, attempt: 2) }
    #expect(try fixture.text(of: "job2").contains(#""cursor":"page 3""#))
    #expect(try await fixture.numbers() == [1, 1, 2, 2, 3, 3])
    let second = try #require(try await fixture.cursor())
    try await fixture.handler.revert(try await fixture.makeExecution(cursor: second))
    #expect(try await fixture.numbers() == [])
  }

  @Test("An attempt that finds objects half taken back takes the rest back, and begins anew")
  func halfTakenBack() async throws {
    let fixture = try ProcessFixture(
      #"""
      cat > job
      [ $BOBBIN_ATTEMPT = 1 ] || exit 0
      for n in 1 2 3; do echo '{"insert": {"entity": "Reading", "values": {"number": '$n'}}}'; done
      echo '{"checkpoint": "x"}'; exit 1
      """#)
    #expect(try await fixture.failure() != nil)
    let saved = try #require(try await fixture.cursor())
    var cursor = try #require(ProcessCursor(saved))
    // The cursor that is saved with the deletion of one object; that object itself is left here.
    _ = cursor.popObjects(atMost: 1)
    let stored = cursor.stored
    _ = try await fixture.run(cursor: stored, attempt: 2)
    #expect(try fixture.text(of: "job").contains(#""cursor":null"#))
    #expect(try await fixture.numbers() == [3])
  }

  @Test("More inserts than allowed between checkpoints fail the attempt; with checkpoints there is no limit")
  func insertLimit() async throws {
    let script = { (checkpoint: String) in
      """
      n=0; while [ $n -lt 3000 ]; do n=$((n+1))
      echo '{"insert": {"entity": "Reading", "values": {"number": '$n'}}}'
      [ $((n % 100)) = 0 ] && \(checkpoint)
      done; exit 0
      """
    }
    let without = try ProcessFixture(script(":"), "InsertSizeMax=64K")
    let failure = try await without.failure()
    #expect(failure?.message.contains("more than 65536 bytes of inserts without a checkpoint") == true)
    let with = try ProcessFixture(script("echo '{\"checkpoint\": \"x\"}'"), "InsertSizeMax=64K")
    _ = try await with.run()
    #expect(try await with.numbers() == Array(1...3000))
  }

  // MARK: How it ends

  @Test(
    "The exit code says whether another attempt could help",
    arguments: [
      (0, nil, false), (1, "exited with code 1;", false), (2, "exited with code 2;", false),
      (64, "exited with code 64 (EX_USAGE);", true), (65, "exited with code 65 (EX_DATAERR);", true),
      (66, "exited with code 66 (EX_NOINPUT);", true), (70, "exited with code 70;", false),
      (74, "exited with code 74;", false), (75, "exited with code 75 (EX_TEMPFAIL);", false),
      (77, "exited with code 77 (EX_NOPERM);", true), (78, "exited with code 78 (EX_CONFIG);", true),
      (139, "exited with code 139;", false), (255, "exited with code 255;", false),
    ] as [(Int, String?, Bool)])
  func exitCodes(code: Int, text: String?, isPermanent: Bool) async throws {
    let fixture = try ProcessFixture("echo first line; printf 'bad\\033[31m' >&2; exit \(code)")
    let failure = try await fixture.failure()
    guard let text else {
      #expect(failure == nil)
      return
    }
    let message = try #require(failure?.message)
    #expect(message.hasPrefix("the program /bin/sh \(text) it used 0."), "\(message)")
    #expect(message.contains(" s of processor time and at most "))
    #expect(message.contains("first line") && message.contains("bad\\x1b[31m"), "\(message)")
    #expect(failure?.isPermanent == isPermanent)
    #expect(failure?.crash == nil)
    #expect(fixture.log.contains("bad\u{1b}[31m"))
  }

  @Test("A signal is a crash, with evidence")
  func crash() async throws {
    let fixture = try ProcessFixture(
      "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo last words; kill -SEGV $$")
    let failure = try #require(try await fixture.failure())
    #expect(failure.message.hasPrefix("the program /bin/sh crashed, killed by signal 11 (SIGSEGV); it used "))
    #expect(!failure.isPermanent)
    let crash = try #require(failure.crash)
    #expect(crash.signal == 11 && crash.exitStatus == nil)
    #expect(crash.userSeconds > 0.01 && crash.maximumResidentBytes > 1_000_000)
    #expect(crash.logTail == "last words")
  }

  @Test("A program may tell its failure itself, and whether it is for good")
  func ownError() async throws {
    for (code, permanent) in [(1, false), (0, true), (65, false)] {
      let fixture = try ProcessFixture(
        "echo '{\"error\": {\"message\": \"no ink\", \"permanent\": \(permanent)}}'; exit \(code)")
      let failure = try #require(try await fixture.failure())
      #expect(failure.message.hasPrefix("no ink"))
      #expect(failure.isPermanent == permanent)
    }
  }

  @Test("A program that can't be executed is a fault of the host, told by its path, and so is a missing interpreter")
  func noProgram() async throws {
    let fixture = try ProcessFixture("true", "ExecStart=/no/such/program")
    let fault = await #expect(throws: HostFault.self) { _ = try await fixture.run() }
    #expect(
      fault?.description
        == "the program /no/such/program can't be started: execve \"/no/such/program\": No such file or directory (ENOENT)"
    )
    let folder = try TemporaryDirectory()
    let script = folder.path("script")
    try Data("#!/no/such/shell -e\ntrue\n".utf8).write(to: URL(filePath: script))
    let closed = try ProcessFixture("true", "ExecStart=\(script)")
    let refusal = await #expect(throws: HostFault.self) { _ = try await closed.run() }
    #expect(
      refusal?.description.hasSuffix(
        "Permission denied (EACCES); its interpreter /no/such/shell is missing or can't be executed") == true)
    try #require(chmod(script, 0o755) == 0)
    let missing = await #expect(throws: HostFault.self) { _ = try await closed.run() }
    #expect(
      missing?.description.hasSuffix("(ENOENT); its interpreter /no/such/shell is missing or can't be executed") == true
    )
  }

  @Test(
    "A program that ends before its work as one is missing that it needs is a fault of the host; later it is its job's")
  func unstarted() async throws {
    let folder = try TemporaryDirectory()
    let program = folder.path("program")
    try Data("#!/usr/bin/env no-such-interpreter\n".utf8).write(to: URL(filePath: program))
    try #require(chmod(program, 0o755) == 0)
    let other = try ProcessFixture("true", "ExecStart=\(program)")
    let missing = await #expect(throws: HostFault.self) { _ = try await other.run() }
    #expect(missing?.description.hasPrefix("the program \(program) exited with code 127, which means") == true)
    #expect(missing?.description.contains("no-such-interpreter") == true)

    let script = folder.path("gone.py")
    let python = try ProcessFixture("true", "ExecStart=/usr/bin/python3 -u \(script) %i")
    for _ in 1...2 {
      let gone = await #expect(throws: HostFault.self) { _ = try await python.run() }
      #expect(
        gone?.description == "the program /usr/bin/python3 exited with code 2, as its script can't be read: "
          + "open \"\(script)\": No such file or directory (ENOENT)")
      #expect(gone?.awaited == script)
    }
    try Data("raise SystemExit(3)\n".utf8).write(to: URL(filePath: script))
    #expect(try await python.failure()?.message.hasPrefix("the program /usr/bin/python3 exited with code 3;") == true)

    for code in [126, 127] {
      let told = try await #require(ProcessFixture(#"echo '{"progress": {"done": 1}}'; exit \#(code)"#).failure())
      #expect(told.message.hasPrefix("the program /bin/sh exited with code \(code);"))
      let silent = try ProcessFixture("echo words; exit \(code)")
      await #expect(throws: HostFault.self) { _ = try await silent.run() }
    }
  }

  @Test("Resource limits hold, and say so")
  func limits() async throws {
    let processor = try ProcessFixture("while :; do :; done", "CPUTimeMax=1s")
    let used = try #require(try await processor.failure())
    #expect(used.message.contains("killed by signal 24 (SIGXCPU) at the limit of its processor time (CPUTimeMax)"))
    #expect(used.crash?.signal == 24)
    let size = try ProcessFixture("exec head -c 100000 /dev/zero > file", "FileSizeMax=4K")
    #expect(try await size.failure()?.message.contains("at the limit of a file's size (FileSizeMax)") == true)
    #expect(try Data(contentsOf: URL(filePath: size.path("file"))).count == 4096)
    let memory = try ProcessFixture(
      "exec /usr/bin/python3 -c 'x = bytearray(500 << 20)'", "MemoryMax=200M")
    #expect(try await memory.failure()?.message.contains("MemoryError") == true)
    let files = try ProcessFixture(
      "exec /usr/bin/python3 -c 'f = [open(\"/dev/null\") for i in range(100)]'", "OpenFilesMax=50")
    #expect(try await files.failure()?.message.contains("Too many open files") == true)
  }
}
