import DaemonTesting
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("Job types run by programs")
  struct ProcessJobs {
    private static let insertion = #"""
      for n in 1 2 3; do
        echo '{"insert": {"entity": "Reading", "values": {"job": "'$BOBBIN_JOB_ID'", "number": '$n'}}}'
      done
      """#

    @Test("What a program inserts is in the database when the job is durable, with its result")
    func success() async throws {
      let root = try DaemonRoot()
      try root.declare("count", Self.insertion + "\necho '{\"result\": {\"count\": 3}}'")
      let daemon = try await DaemonProcess.ready(root)
      let jobs = try await daemon.submit(#"{"type": "count", "id": "a"}"#)
      #expect(jobs.first?["state"]?.string == "completed")
      #expect(jobs.first?["result"]?["count"]?.integer == 3)
      let rows = try await root.sql("SELECT job, number FROM Reading ORDER BY number")
      #expect(rows == "a|1\na|2\na|3")
    }

    @Test("A job that fails leaves nothing but its reason, with the end of the log")
    func failure() async throws {
      let root = try DaemonRoot()
      try root.declare("count", Self.insertion + "\necho 'no paper' >&2; exit 65")
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(#"{"type": "count", "id": "a"}"#, as: "a.json")
      try await daemon.waitUntilSpoolIsEmpty()
      let reason = try root.reason("a.json")
      #expect(reason.hasPrefix("a.json: a: the program /bin/sh exited with code 65 (EX_DATAERR); it used 0."))
      #expect(reason.hasSuffix("; its log ends: no paper\n"))
      #expect(try await root.sql("SELECT state, attempt FROM Job; SELECT count(*) FROM Reading") == "discarded|1\n0")
    }

    @Test("MaxAttempts of the type holds for jobs that don't say otherwise")
    func attempts() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=20ms\n[Jobs]\nBackoffBaseSec=1ms\n")
      try root.declare("flaky", "[ $BOBBIN_ATTEMPT = 5 ] || exit 75", "MaxAttempts=5")
      let daemon = try await DaemonProcess.ready(root)
      let jobs = try await daemon.submit(
        #"{"jobs": [{"type": "flaky", "id": "a"}, {"type": "flaky", "id": "b", "maxAttempts": 2}]}"#)
      #expect(jobs.map { $0["state"]?.string } == ["completed", "discarded"])
      #expect(jobs.map { $0["error"]?.string == nil } == [true, false])
      #expect(jobs.last?["error"]?.string?.contains("exited with code 75") == true)
      #expect(try await root.sql("SELECT id, attempt FROM Job ORDER BY id") == "a|5\nb|2")
    }

    @Test("TimeoutSec of the type ends a program, with its group, unless the job's own timeout is longer")
    func timeouts() async throws {
      let root = try DaemonRoot()
      try root.declare("slow", "(trap '' TERM; exec sleep 600) & sleep 1.2", "TimeoutSec=500ms\nKillGraceSec=0")
      let daemon = try await DaemonProcess.ready(root)
      let jobs = try await daemon.submit(
        #"""
        {"jobs": [{"type": "slow", "id": "a", "maxAttempts": 1}, {"type": "slow", "id": "b", "timeout": "1min"}]}
        """#)
      #expect(jobs.map { $0["state"]?.string } == ["discarded", "completed"])
      #expect(jobs.first?["error"]?.string == "it took longer than 500ms")
    }

    @Test("Concurrency bounds the jobs of a type, and a reload changes it")
    func concurrency() async throws {
      let root = try DaemonRoot("[Workers]\nCount=4\n[Writer]\nFlushIntervalSec=20ms\n")
      // A second one that runs at the same time finds the folder.
      let script = "mkdir alone || exit 65; sleep 0.1; rmdir alone"
      try root.declare("one", script, "Concurrency=1")
      let daemon = try await DaemonProcess.ready(root)
      let jobs = Array(repeating: #"{"type": "one"}"#, count: 8).joined(separator: ", ")
      let states = try await daemon.submit(#"{"jobs": [\#(jobs)]}"#).map { $0["state"]?.string }
      #expect(states == Array(repeating: "completed", count: 8))
      try root.declare("one", script)
      try daemon.child.kill(SIGHUP)
      try await daemon.wait { $0.notifications.count { $0 == "READY=1" } == 2 }
      let again = try await daemon.submit(#"{"jobs": [\#(jobs)]}"#).map { $0["state"]?.string }
      #expect(again.contains("discarded"))
    }

    @Test("Arguments are checked before a job is accepted")
    func arguments() async throws {
      let root = try DaemonRoot()
      try root.declare(
        "render", "exit 0", "RequiredArguments=input:path\nOptionalArguments=pages:integer list:array")
      let daemon = try await DaemonProcess.ready(root)
      for (arguments, message) in [
        (#"{"inptu": "a"}"#, #""arguments.inptu": is not an argument of this type; did you mean "input"?"#),
        ("{}", #""arguments.input": is missing"#),
        (#"{"input": 7}"#, #""arguments.input": must be a string, not an integer"#),
        (#"{"input": "a", "pages": "3"}"#, #""arguments.pages": must be a whole number, not a string"#),
        (#"{"input": "a", "list": {}}"#, #""arguments.list": must be an array, not an object"#),
      ] {
        let reply = try await daemon.request(
          "POST", "/v1/jobs", body: #"{"type": "render", "arguments": \#(arguments)}"#)
        #expect(reply.status == 400)
        #expect(reply.body.serialized().contains(message.replacing("\"", with: "\\\"")), "\(reply.body.serialized())")
      }
      let jobs = try await daemon.submit(#"{"type": "render", "arguments": {"input": "a", "pages": 3, "list": []}}"#)
      #expect(jobs.first?["state"]?.string == "completed")
    }

    @Test("A daemon that is killed takes the program with it, and the next goes on at the checkpoint, nothing twice")
    func killed() async throws {
      let root = try DaemonRoot("[Workers]\nCount=2\n[Writer]\nFlushIntervalSec=20ms\n")
      try root.declare(
        "long",
        #"""
        insert() { echo '{"insert": {"entity": "Reading", "values": {"job": "long", "number": '$1'}}}'; }
        case $(cat) in
        *'"cursor":null'*) insert 1; insert 2; echo '{"checkpoint": "2"}'; insert 3
          exec 3> held; sleep 600 & echo > ready; sleep 600 ;;
        *'"cursor":"2"'*) insert 3; insert 4 ;;
        esac
        """#)
      let held = root.paths.payload + "/held"
      mkfifo(held, 0o600)
      // Ends when every process is dead that has the FIFO open.
      let isOver = Task {
        try await onThread { String(decoding: try FileDescriptor.open(held).readAll(limit: 100), as: UTF8.self) }
      }
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(#"{"type": "long", "id": "long"}"#, as: "long.json")
      try await daemon.wait { FileManager.default.fileExists(atPath: $0.root.paths.payload + "/ready") }
      try await daemon.waitForCheckpoint()
      try await daemon.kill()
      let again = try await DaemonProcess.ready(root)
      try await again.waitUntilSpoolIsEmpty()
      _ = try await isOver.value
      #expect(try await root.sql("SELECT number FROM Reading ORDER BY number") == "1\n2\n3\n4")
      #expect(try await root.sql("SELECT state, attempt FROM Job WHERE id = 'long'") == "completed|2")
    }

    @Test("60 jobs survive 12 kills at random moments: each has its objects once")
    func kills() async throws {
      let root = try DaemonRoot()
      // The second attempt must not repeat what the checkpoint of the first has saved.
      try root.declare(
        "steps",
        #"""
        from=$(jq -r '.cursor // 1')
        for n in $(seq $from 5); do
          echo '{"insert": {"entity": "Reading", "values": {"job": "'$BOBBIN_JOB_ID'", "number": '$n'}}}'
          echo '{"checkpoint": "'$((n+1))'"}'
        done
        """#)
      var random = SeededGenerator(seed: 13)
      let (jobCount, killCount) = (60, 12)
      var hits = 0
      for kill in 0..<killCount {
        let daemon = try DaemonProcess(root)
        let before = root.currentWatch.counts
        for number in (kill * jobCount / killCount)..<((kill + 1) * jobCount / killCount) {
          try root.drop(#"{"type": "steps", "id": "j\#(number)"}"#, as: FileName("j\(number).json"))
        }
        let count = Int.random(in: 1...4, using: &random)
        try await daemon.wait { _ in root.currentWatch.counts.came - before.came >= count }
        try await daemon.kill()
        if try !root.isSpoolEmpty { hits += 1 }
      }
      let daemon = try await DaemonProcess.ready(root)
      try await daemon.waitUntilSpoolIsEmpty()
      print("\(hits) of \(killCount) kills with work in the spool")
      let rows = try await root.sql(
        "SELECT count(DISTINCT job), count(*), count(DISTINCT job || ' ' || number) FROM Reading")
      #expect(rows == "\(jobCount)|\(jobCount * 5)|\(jobCount * 5)")
      #expect(try await root.sql("SELECT state, count(*) FROM Job GROUP BY state") == "completed|\(jobCount)")
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("A stop ends a program that goes on too long, and the next start runs the job again")
    func stop() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=20ms\nShutdownTimeoutSec=1s\n")
      try root.declare(
        "long", "[ -e ready ] && exit 0; trap 'echo > asked; exit 1' TERM; echo > ready; while :; do sleep 0.1; done")
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(#"{"type": "long", "id": "long"}"#, as: "long.json")
      let payload = root.paths.payload
      try await daemon.wait { _ in FileManager.default.fileExists(atPath: payload + "/ready") }
      let start = ContinuousClock.now
      #expect(try await daemon.stop() == .exited(code: 0))
      #expect(start.duration(to: .now) < .seconds(60))
      #expect(FileManager.default.fileExists(atPath: payload + "/asked"))
      let again = try await DaemonProcess.ready(root)
      try await again.waitUntilSpoolIsEmpty()
      #expect(try await root.sql("SELECT state FROM Job") == "completed")
    }

    @Test("A reload takes new, changed and removed types; a bad file leaves the old ones")
    func reloading() async throws {
      let root = try DaemonRoot()
      try root.declare("one", "echo '{\"result\": {\"version\": 1}}'")
      let daemon = try await DaemonProcess.ready(root)
      let version: @Sendable (String) async throws -> Int64? = { type in
        try await daemon.submit(#"{"type": "\#(type)"}"#).first?["result"]?["version"]?.integer
      }
      #expect(try await version("one") == 1)

      try root.declare("two", "echo '{\"result\": {\"version\": 2}}'")
      try root.write("[Handler]\nType=three\nExecStrat=/bin/true\n", to: root.paths.handlers + "/three.conf")
      try daemon.child.kill(SIGHUP)
      try await daemon.waitForLog("the old one stays in force")
      #expect(
        daemon.logText.contains(
          "handlers.d/three.conf:3: [Handler] ExecStrat=/bin/true: unknown key; did you mean ExecStart?"))
      #expect(try await version("one") == 1)
      let refused = try await daemon.request("POST", "/v1/jobs", body: #"{"type": "two"}"#)
      #expect(refused.status == 400)
      #expect(refused.body.serialized().contains("there are image.encode, import, noop, one"))

      try FileManager.default.removeItem(atPath: root.paths.handlers + "/three.conf")
      try FileManager.default.removeItem(atPath: root.paths.handlers + "/one.conf")
      try daemon.child.kill(SIGHUP)
      try await daemon.wait { $0.notifications.count { $0 == "READY=1" } == 3 }
      #expect(try await version("two") == 2)
      let removed = try await daemon.request("POST", "/v1/jobs", body: #"{"type": "one"}"#)
      #expect(removed.status == 400)
    }

    @Test("--check-config names file, line and key of everything that is wrong, beside other mistakes")
    func checking() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=fast\n")
      let folder = root.paths.handlers
      try root.write("[Handler]\nType=a\nExecStart=true\nUser=no-such-user\n", to: folder + "/1.conf")
      try root.write("[Handler]\nType=noop\nExecStart=/bin/true\n", to: folder + "/2.conf")
      let check = try await Tool.run("bobbind", ["--root", root.directory.path, "--check-config"])
      #expect(check.code == 78)
      #expect(check.errors.contains("bobbin.conf:2: [Writer] FlushIntervalSec=fast: expected"))
      #expect(
        check.errors.contains(
          "bobbind: \(folder)/1.conf:3: [Handler] ExecStart=true: expected the program's absolute path"))
      #expect(
        check.errors.contains(
          "bobbind: \(folder)/2.conf:2: [Handler] Type=noop: is a built-in type; choose another name\n"))
      try root.configure("")
      try root.write("[Handler]\nType=a\nExecStart=/bin/true\nUser=no-such-user\n", to: folder + "/1.conf")
      try FileManager.default.removeItem(atPath: folder + "/2.conf")
      let again = try await Tool.run("bobbind", ["--root", root.directory.path, "--check-config"])
      #expect(again.errors == "bobbind: \(folder)/1.conf:4: [Handler] User=no-such-user: there is no such user\n")
      try root.write("[Handler]\nType=a\nExecStart=/bin/true\n", to: folder + "/1.conf")
      let good = try await Tool.run("bobbind", ["--root", root.directory.path, "--check-config"])
      #expect(good.code == 0)
      #expect(good.output.hasSuffix("1 declared job type\n"), "\(good.output)")
    }

    @Test("--check-config finds programs, interpreters and folders that are missing, and a helper that does not start")
    func checkingPrograms() async throws {
      let root = try DaemonRoot()
      let folder = root.paths.handlers
      func declare(_ name: String, _ program: String, _ more: String = "") throws {
        try root.write("[Handler]\nType=\(name)\nExecStart=\(program)\n\(more)\n", to: "\(folder)/\(name).conf")
      }
      func script(_ name: String, _ text: String, mode: mode_t = 0o755) throws -> String {
        let path = root.directory.path(name)
        try root.write(text, to: path)
        try #require(chmod(path, mode) == 0)
        return path
      }
      try declare("gone", "/nonexistent/program")
      try declare("plain", try script("plain", "#!/bin/sh\n", mode: 0o644))
      try declare("python", try script("python", "#!/nonexistent/python\n"))
      try declare("env", try script("env", "#!/usr/bin/env no-such-interpreter\n"))
      try declare("folder", "/usr")
      try declare("place", "/bin/true", "WorkingDirectory=/nonexistent")
      try declare("good", try script("good", "#!/usr/bin/env sh\n"))
      let check = try await Tool.run("bobbind", ["--root", root.directory.path, "--check-config"])
      #expect(check.code == 78)
      let found = check.errors.split(separator: "\n").map { $0.replacing("bobbind: \(folder)/", with: "") }
      #expect(found.count == 6, "\(check.errors)")
      for (beginning, words) in [
        ("gone.conf:3: [Handler] ExecStart=/nonexistent/program: can't be executed", "No such file"),
        ("plain.conf:3: [Handler] ExecStart=", "Permission denied"),
        ("python.conf:3: [Handler] ExecStart=", "its interpreter /nonexistent/python is missing"),
        ("env.conf:3: [Handler] ExecStart=", "its interpreter no-such-interpreter is not in the PATH /usr/local"),
        ("folder.conf:3: [Handler] ExecStart=/usr: can't be executed", "is a folder"),
        ("place.conf:4: [Handler] WorkingDirectory=/nonexistent: can't be entered", "No such file"),
      ] {
        #expect(found.contains { $0.hasPrefix(beginning) && $0.contains(words) }, "\(words): \(check.errors)")
      }
      for name in ["gone", "plain", "python", "env", "folder", "place"] {
        try FileManager.default.removeItem(atPath: "\(folder)/\(name).conf")
      }
      #expect(try await Tool.run("bobbind", ["--root", root.directory.path, "--check-config"]).code == 0)

      // A daemon looks for the helper beside itself.
      let daemon = root.directory.path("bobbind")
      try FileManager.default.copyItem(
        atPath: RepositoryPaths.executable("bobbind").path(percentEncoded: false), toPath: daemon)
      let missing = try await Tool.run(daemon, ["--root", root.directory.path, "--check-config"])
      #expect(missing.code == 0 && missing.errors.contains("no picture can be encoded: "), "\(missing.errors)")
      _ = try script("bobbin-image", "#!/bin/sh\nexit 127\n")
      let broken = try await Tool.run(daemon, ["--root", root.directory.path, "--check-config"])
      #expect(broken.code == 78 && broken.errors.contains("when it was tried"), "\(broken.errors)")
    }

    @Test(
      "A program of another user starts in / where no folder is named, as it may not enter payload/",
      .enabled(if: SkipReason.runsAsRoot()))
    func otherUsersFolder() async throws {
      let root = try DaemonRoot()
      try root.declare("where", "echo \"{\\\"result\\\": {\\\"folder\\\": \\\"$(pwd)\\\"}}\"", "User=nobody")
      chmod(root.directory.path, 0o755)
      try #require(chmod(root.paths.payload, 0o3770) == 0)
      let daemon = try await DaemonProcess.ready(root)
      let jobs = try await daemon.submit(#"{"type": "where"}"#)
      #expect(jobs.first?["result"]?["folder"]?.string == "/", "\(jobs)")
    }

    @Test("A daemon of root runs a program as the user that its type names", .enabled(if: SkipReason.runsAsRoot()))
    func otherUser() async throws {
      let root = try DaemonRoot()
      try root.declare(
        "who", "id -un >&2; echo \"{\\\"result\\\": {\\\"user\\\": \\\"$(id -un) $HOME\\\"}}\"",
        "User=nobody\nWorkingDirectory=/")
      chmod(root.directory.path, 0o755)
      let daemon = try await DaemonProcess.ready(root)
      let jobs = try await daemon.submit(#"{"type": "who"}"#)
      #expect(jobs.first?["result"]?["user"]?.string == "nobody /nonexistent", "\(jobs)")
    }
  }
}
