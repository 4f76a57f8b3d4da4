import Foundation
import SystemSupport
import TestSupport
import Testing

@Suite("bobbinctl's command line")
struct CommandLineTests {
  private static let encodeUsage =
    "encode [OPTION...] INPUT... OUTPUT, encode [OPTION...] --output-dir DIR [--to FORMAT] INPUT..."
  private static let fleetUsage =
    "fleet [--json] [drain HOST | undrain HOST | remove [--move | --cancel] HOST | finish-upgrade [--dry-run]]"

  @Test(
    "Mistakes end with 64 and a line each that helps",
    arguments: [
      (
        [],
        [
          "a command is missing: status, top, submit, encode, import, watch, batch, list, show, why, log, rejects, query, queues, "
            + "explain, schedules, run, folders, cancel, hold, release, retry, redrive, delete, priority, edit, pause, resume, drain, flush, "
            + "fleet, model, store, backup, refresh-copy, token, doctor or completion"
        ]
      ),
      (["stauts"], [#"there is no command "stauts"; do you mean "status"?"#]),
      (["list", "--stat=x"], ["there is no option --stat; do you mean --state?"]),
      (
        ["--jsno", "list", "--limt", "--type"],
        [
          "there is no option --jsno; do you mean --json?", "there is no option --limt; do you mean --limit?",
          "--type needs a value: --type TYPE",
        ]
      ),
      (["list", "--limit", "0"], [#"--limit takes a whole number from 1 to 10000, not "0""#]),
      (
        ["list", "--limit=1e3", "x\u{1b}"],
        [#"list takes no argument, not "x\x1b""#, #"--limit takes a whole number from 1 to 10000, not "1e3""#]
      ),
      (["status", "now"], [#"status takes no argument, not "now""#]),
      (["watch"], ["give IDs or a batch: watch [--json] ID... | --batch BATCH"]),
      (["watch", "a", "--batch=b"], ["give IDs or a batch: watch [--json] ID... | --batch BATCH"]),
      (["batch", "a", "b"], ["batch takes one batch: batch [--json] BATCH"]),
      (["show"], ["an ID is missing: show [--json] ID..."]), (["show", ""], ["an ID can't be empty"]),
      (
        ["submit"],
        ["a file is missing: submit [--wait[=TIME]] [--place PLACE] [--replace] [--input NAME=FILE] [--json] FILE..."]
      ),
      (["submit", "-", "-"], ["standard input can be read only once"]),
      (["cancel"], ["say which jobs are meant: ID... | CONDITION... [--dry-run]"]),
      (["hold", "a", "--queue", "q"], ["give either IDs or conditions such as --state and --queue"]),
      (["hold", "a", "--dry-run"], ["--dry-run is for conditions, not for IDs"]),
      (["list", "--argument", "a"], ["--argument takes KEY=VALUE, not \"a\""]),
      (["pause", "--schedule", "a", "--queue", "q"], ["--schedule stands alone"]),
      (["run"], ["the name of one schedule is expected"]),
      (["token", "ci"], ["a name and a role are expected: token [--user USER] [--json] NAME ROLE"]),
      (
        ["token", "c i", "root"],
        [
          "NAME is a name of up to 100 letters, digits, dots, hyphens and underscores",
          #"ROLE is read, submit or control, not "root""#,
        ]
      ),
      (["schedules", "a"], ["schedules takes no argument, not \"a\""]),
      (["top", "a"], ["top takes no argument, not \"a\""]),
      (["folders", "a"], ["folders takes no argument, not \"a\""]),
      (["pause", "--queue", "q", "--type", "t"], ["give --queue or --type, not both"]),
      (["explain"], ["a path is expected: explain [--as USER] [--json] PATH"]),
      (["edit", "a", "b", "c=1", "c=2"], [#"a change is KEY=VALUE, not "b""#, #""c" is given twice"#]),
      (["priority", "101", "a"], ["the first argument is a priority from -100 to 100"]),
      (["pause", "images"], [#"pause takes no argument, not "images"; a queue is named by --queue"#]),
      (["list", "--type", "a", "--type", "b"], ["--type is given twice"]),
      (
        ["list", "--since", "soon", "--count", "--limit=3"],
        [
          #"--since takes a time such as 2026-11-21, "2026-11-21 10:00", yesterday or 2h, not "soon""#,
          "--count counts all jobs; leave out --oldest, --limit, --offset and --after",
        ]
      ),
      (["submit", "--wait=", "-"], ["a value is missing after --wait="]),
      (
        ["submit", "--wait=soon", "-"],
        [#"--wait takes a time span of at most 1d, such as 90s, 10min or 3h, not "soon""#]
      ),
      (
        ["drain", "--wait=25h", "ash"],
        [
          #"drain takes no argument, not "ash"; "fleet drain" drains another host"#,
          #"--wait takes a time span of at most 1d, such as 90s, 10min or 3h, not "25h""#,
        ]
      ),
      (["encode", "a.jpg"], ["an input or an output is missing: \(Self.encodeUsage)"]),
      (
        ["encode", "-", "b.jpg", "out/", "--dry-run"],
        [
          "standard input is one picture, and needs a file as OUTPUT",
          "standard input needs --wait: it is kept until the job is completed",
          "standard input can't be in a job file; leave --dry-run out",
        ]
      ),
      (
        ["import", "--entity=A", "--column", "name", "--header=maybe"],
        [
          #"--column takes a column's name and an attribute, as "Full Name=name", not "name""#,
          "a file is missing: import [OPTION...] --entity ENTITY [--key ATTRIBUTE] FILE...",
          #"--header takes one of yes, no, not "maybe""#,
        ]
      ),
      (["import", "--entity=A", "-"], ["standard input needs --wait: it is kept until the job is completed"]),
      (["completion", "tcsh"], ["a shell is expected: completion bash | zsh | fish"]),
      (
        ["store", "move", "x"],
        [
          "an action and the places of stores are missing: store copy [--dry-run] [--json] [FROM] TO, "
            + "store verify [--json] FROM TO"
        ]
      ), (["store", "copy", "x", "sqlite:x"], ["FROM and TO are the same store"]),
      (["store", "verify", "--dry-run", "a", "b"], ["verify changes nothing anyway; leave --dry-run out"]),
      (["backup"], ["backup takes the folder of the backup: backup [--replace] [--json] DIR"]),
      (["doctor", "a", "b"], ["doctor takes one folder of a backup, or none"]),
      (["refresh-copy", "x"], [#"refresh-copy takes no argument, not "x""#]),
      (["fleet", "kill", "a"], ["an action is expected, with a host if it is about one: \(Self.fleetUsage)"]),
      (["fleet", "drain"], ["an action is expected, with a host if it is about one: \(Self.fleetUsage)"]),
      (
        ["fleet", "finish-upgrade", "a"], ["an action is expected, with a host if it is about one: \(Self.fleetUsage)"]
      ),
      (["fleet", "drain", "--move", "a"], ["--move and --cancel belong to remove"]),
      (["fleet", "drain", "--dry-run", "a"], ["--dry-run belongs to finish-upgrade"]),
      (["fleet", "remove", "--move", "--cancel", "a"], ["give --move or --cancel, not both"]),
      (["model"], ["an action is missing: model infer FILE..., check, show or diff"]),
      (["model", "guess", "x"], ["an action is missing: model infer FILE..., check, show or diff"]),
      (["model", "diff"], ["diff takes two models: model diff OLD [NEW]"]),
      (["model", "show", "a", "B", "c"], ["show takes a path and an entity: model show [PATH [ENTITY]]"]),
      (["model", "check", "--key", "a"], ["--key belongs to infer"]),
      (["model", "infer"], ["a file is missing: model infer FILE..."]),
      (
        ["model", "infer", "a.csv", "--tolerate", "60%", "--reference", "x=Y", "--entity", "A", "--entity", "B"],
        [
          "--tolerate takes a share from 0% to 50%, not \"60%\"", "--entity is given more often than there are files",
          "--reference takes COLUMN=ENTITY.KEY, not \"x=Y\"",
        ]
      ),
      (
        ["model", "infer", "a.csv", "b.csv", "--key", "x", "--reference", "A.y=A.z"],
        [
          "--key takes ENTITY.COLUMN if there are several files, not \"x\"",
          "--reference can't lead from A to itself: import it without that column first, and then again with the mode "
            + "\"update\"",
        ]
      ), (["model", "infer", "a.csv", "x/a.csv"], ["two files make the entity \"A\"; name them with --entity"]),
      (["status", "--json=1", "--root="], ["--json takes no value", "--root needs a value: --root DIR"]),
    ])
  func mistakes(arguments: [String], problems: [String]) async throws {
    let run = try await TestDaemon.run(arguments)
    #expect(run.code == 64)
    #expect(run.output == "")
    let lines = run.errors.split(separator: "\n").map(String.init)
    #expect(lines.dropLast() == problems.map { "bobbinctl: " + $0 }[...])
    #expect(lines.last?.contains("--help") == true)
  }

  @Test("Help and version need no daemon and win over mistakes")
  func help() async throws {
    let general = try await TestDaemon.run(["--help"])
    #expect(general.code == 0)
    for name in ["status", "submit", "list", "show", "--socket PATH"] { #expect(general.output.contains("  \(name)")) }
    for name in ["status", "submit", "list", "show", "why", "cancel", "priority", "pause", "queues"] {
      let run = try await TestDaemon.run([name, "--help", "--nonsense"])
      #expect(run.code == 0)
      #expect(run.output.hasPrefix("Usage: bobbinctl \(name)"))
      #expect(run.output.split(separator: "\n").allSatisfy { $0.count <= 120 })
    }
    #expect(try await TestDaemon.run(["help"]).output == general.output)
    #expect(try await TestDaemon.run(["help", "list"]).output == TestDaemon.run(["list", "--help"]).output)
    let unknown = try await TestDaemon.run(["help", "lisst"])
    #expect(unknown.code == 64)
    #expect(unknown.errors.hasPrefix("bobbinctl: there is no command \"lisst\"; do you mean \"list\"?"))
    #expect(try await TestDaemon.run(["--version"]).output == Release.description(of: "bobbinctl") + "\n")
  }

  @Test("--socket wins over --root, and options may follow the command")
  func socket() async throws {
    let daemon = try TestDaemon(SampleReplies.status)
    let socket = daemon.root.path("run/bobbin.sock")
    let run = try await TestDaemon.run(["--root", "/nonexistent", "status", "--json", "--socket", socket])
    #expect(run.code == 0)
    #expect(run.output == SampleReplies.status + "\n")
  }

  @Test("The root is that of the option, or of BOBBIN_ROOT, which a socket goes before")
  func root() async throws {
    let (daemon, other) = (try TestDaemon(SampleReplies.status), try TestDaemon(SampleReplies.status))
    let environment = ["BOBBIN_ROOT": daemon.root.path]
    #expect(try await TestDaemon.run(["status"], environment: environment).code == 0)
    #expect(daemon.requests.count == 1)
    #expect(try await TestDaemon.run(["status", "--root", other.root.path], environment: environment).code == 0)
    let socket = other.root.path("run/bobbin.sock")
    #expect(try await TestDaemon.run(["status", "--socket", socket], environment: environment).code == 0)
    #expect(daemon.requests.count == 1 && other.requests.count == 2)
    let unset = try await TestDaemon.run(["status", "--socket", "/nowhere"], environment: ["BOBBIN_ROOT": ""])
    #expect(unset.errors.hasPrefix("bobbinctl: bobbind does not listen at /nowhere"))
  }

  @Test("A daemon that isn't there ends with 69 and is reported once, whatever is asked")
  func absent() async throws {
    let directory = try TemporaryDirectory()
    let commands = [["status"], ["list"], ["show", "a", "b"], ["submit", "-"], ["submit", "/dev/null", "/dev/null"]]
    for arguments in commands {
      let run = try await TestDaemon.run(["--root", directory.path] + arguments)
      #expect(run.code == 69)
      #expect(run.errors.contains("bobbind does not listen at \(directory.path)/run/bobbin.sock"))
      #expect(run.errors.ranges(of: "does not listen").count == 1)
      #expect(run.output == "")
    }
  }

  @Test("A socket path that is too long is a usage error")
  func longSocket() async throws {
    let run = try await TestDaemon.run(["--socket", "/" + String(repeating: "x", count: 200), "status"])
    #expect(run.code == 64)
  }

  @Test("Output that can't be written ends with 74")
  func fullDisk() async throws {
    let daemon = try TestDaemon(SampleReplies.status)
    let full = try FileDescriptor.open("/dev/full", .writing)
    for arguments in [["status"], ["status", "--json"], ["--help"]] {
      let child = try ChildProcess.start(
        ChildLaunch(
          executable: try RepositoryPaths.executable("bobbinctl").path(percentEncoded: false),
          arguments: ["--root", daemon.root.path] + arguments, descriptors: [1: full.number]))
      let end = try await child.termination(killingAt: .after(.seconds(20)))
      #expect(end.termination.status == .exited(code: 74))
    }
  }
}
