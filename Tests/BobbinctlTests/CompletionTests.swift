import Foundation
import HTTPService
import SystemSupport
import TestSupport
import Testing

@testable import bobbinctl

@Suite("Completion of command lines")
struct CompletionTests {
  /// A daemon that knows some jobs, a schedule and entities; it answers what else it is asked with nothing.
  private func daemon() throws -> TestDaemon {
    try TestDaemon { request in
      let held = request.query("state") == "held"
      let body =
        switch request.path {
        case "/v1/jobs":
          held
            ? SampleReplies.jobs(SampleReplies.job("held-1"))
            : SampleReplies.jobs(
              SampleReplies.job("nightly@2026-11-23T03:00:00Z"), SampleReplies.job("it's 5 o'clock"),
              SampleReplies.job("held-1"), SampleReplies.job("done", ["batch": #""big batch""#]))
        case "/v1/schedules":
          #"{"schedules": [{"name": "nightly", "isPaused": false, "next": null, "last": null, "jobs": {}}]}"#
        case "/v1/entities": #"{"entities": [{"name": "Person", "attributes": []}]}"#
        case "/v1/queues": #"{"paused": false, "queues": [{"name": "mail", "paused": false, "jobs": {}}], "types": []}"#
        default: "{}"
        }
      return .now(.json(data: Data(body.utf8)))
    }
  }

  /// What is offered for a line that is split into words.
  private func offered(_ words: String..., by daemon: TestDaemon) async throws -> [String] {
    let run = try await TestDaemon.run(
      ["--root", daemon.root.path, "complete", "--", "--root", daemon.root.path] + words)
    #expect(run.code == 0 && run.errors == "")
    return run.lines.map { String($0.split(separator: "\t", omittingEmptySubsequences: false)[0]) }
  }

  @Test("Each word gets what its place in the usage asks for")
  func places() async throws {
    let daemon = try daemon()
    #expect(try await offered("sch", by: daemon) == ["schedules"])
    #expect(try await offered("help", "sch", by: daemon) == ["schedules"])
    #expect(try await offered("release", "", by: daemon) == ["held-1"])
    #expect(try await offered("show", "held-1", "d", by: daemon) == ["done"])
    #expect(try await offered("show", "held-1", "h", by: daemon) == [])
    #expect(try await offered("batch", "", by: daemon) == ["big batch"])
    #expect(try await offered("run", "", by: daemon) == ["nightly"])
    #expect(try await offered("pause", "--schedule", "", by: daemon) == ["nightly"])
    #expect(try await offered("list", "--queue=m", by: daemon) == ["--queue=mail"])
    #expect(try await offered("list", "--state", "re", by: daemon) == ["retryable"])
    #expect(try await offered("list", "--sta", by: daemon) == ["--state"])
    // Once given, it can't be given again, but for one that may be repeated.
    #expect(try await offered("list", "--count", "--state", "held", "--c", by: daemon) == [])
    #expect(try await offered("list", "--state", "held", "--st", by: daemon) == ["--state"])
    #expect(try await offered("import", "--entity", "", by: daemon) == ["Person"])
    #expect(try await offered("import", "--header=", by: daemon) == ["--header=yes", "--header=no"])
    #expect(try await offered("encode", "--fit", "p", by: daemon) == ["pad"])
    #expect(try await offered("fleet", "", by: daemon) == ["drain", "undrain", "remove", "finish-upgrade"])
    #expect(try await offered("completion", "z", by: daemon) == ["zsh"])
    #expect(try await offered("priority", "", by: daemon) == [])
    #expect(try await offered("query", "", by: daemon) == offered("import", "--entity", "", by: daemon))
    #expect(try await offered("priority", "5", "do", by: daemon) == ["done"])
    for words in [["submit"], ["model", "infer"], ["store", "copy", "a"], ["encode", "a.jpg"]] {
      #expect(try await TestDaemon.run(["complete", "--"] + words + [""]).output == "\tfiles\n")
    }
    #expect(try await TestDaemon.run(["complete", "--", "rejects", "--output", ""]).output == "\tfolders\n")
    #expect(try await offered("no-such-command", "", by: daemon) == [])
  }

  @Test("Every word of the usages and options has a meaning here")
  func meanings() {
    for command in bobbinctl.Tool.commands {
      for word in Synopsis(command).words {
        #expect(
          Completion.meanings[word] != nil, "\(command.name): \(word); say in Completion.meanings what it stands for")
      }
    }
    for option in bobbinctl.Tool.commands.flatMap(\.options) + bobbinctl.Tool.options {
      guard case .required(let word) = option.value, !word.contains("|") else { continue }
      #expect(Completion.meanings[word] != nil, "\(option.name) \(word); say in Completion.meanings what it stands for")
    }
  }

  @Test("A daemon that is not there offers nothing, and says nothing")
  func absent() async throws {
    let directory = try TemporaryDirectory()
    let run = try await TestDaemon.run(["complete", "--", "--root", directory.path, "show", ""])
    #expect(run.code == 0 && run.output == "" && run.errors == "")
  }

  // MARK: Shells

  /// Types lines into a shell on a terminal, and returns what it shows.
  private func type(_ lines: [String], into shell: String, at daemon: TestDaemon) async throws -> String {
    let programs = try RepositoryPaths.executable("bobbinctl").deletingLastPathComponent().path(percentEncoded: false)
    let environment = [
      "PATH": "\(programs):/usr/bin:/bin", "BOBBIN_ROOT": daemon.root.path, "HOME": daemon.root.path, "TERM": "xterm",
      "INPUTRC": "/dev/null", "PS1": "$ ",
    ]
    let input = (lines + ["exit"]).map { $0 + "\n" }.joined()
    let run = try await TestSupport.Tool.run(
      "/usr/bin/script", ["-q", "-e", "-c", shell, "/dev/null"], input: input, environment: environment)
    return run.output
  }

  /// The IDs that a daemon was asked to show.
  private func shown(_ daemon: TestDaemon) -> [String] {
    daemon.requests.filter { $0.hasPrefix("GET /v1/jobs/") }.map { String($0.dropFirst("GET /v1/jobs/".count)) }
  }

  /// Lines that end with a job's ID, as far as it has to be typed, and what is to become of them.
  private static let lines = ["bobbinctl show n\t", "bobbinctl show it\t", "bobbinctl release \t"]

  @Test(
    "bash completes IDs that have colons, blanks and quotes, and options with their values", .timeLimit(.minutes(2)))
  func bash() async throws {
    let daemon = try daemon()
    try Data().write(to: daemon.root.url.appending(path: "job file.json"))
    let text = try await type(
      ["source <(bobbinctl completion bash)", "cd"] + Self.lines + [
        "bobbinctl list --queue=m\t", "bobbinctl sched\t", "bobbinctl submit jo\t",
      ], into: "/bin/bash --norc --noprofile -i", at: daemon)
    #expect(
      shown(daemon).map { $0.removingPercentEncoding } == ["nightly@2026-11-23T03:00:00Z", "it's 5 o'clock"], "\(text)")
    #expect(daemon.bodies.contains(#"{"command":"release","jobs":["held-1"]}"#), "\(text)")
    #expect(daemon.requests.contains("GET /v1/jobs?queue=mail"), "\(text)")
    #expect(daemon.requests.contains("GET /v1/schedules"), "\(text)")
    #expect(
      daemon.requests.contains { $0.hasPrefix("POST /v1/jobs?tag=") && $0.hasSuffix("&directory=\(daemon.root.path)") },
      "\(text)")
  }

  private static func has(_ shell: String) -> Bool {
    SkipReason("needs \(shell)").unless(FileManager.default.isExecutableFile(atPath: "/usr/bin/\(shell)"))
  }

  @Test(
    "zsh completes IDs that have colons, blanks and quotes",
    .enabled(if: has("zsh")), .timeLimit(.minutes(2)))
  func zsh() async throws {
    let daemon = try daemon()
    let text = try await type(
      ["autoload -Uz compinit && compinit -D -u", "source <(bobbinctl completion zsh)"] + Self.lines + [
        "bobbinctl list --queue=m\t"
      ], into: "/usr/bin/zsh -f -i", at: daemon)
    #expect(
      shown(daemon).map { $0.removingPercentEncoding } == ["nightly@2026-11-23T03:00:00Z", "it's 5 o'clock"], "\(text)")
    #expect(daemon.bodies.contains(#"{"command":"release","jobs":["held-1"]}"#), "\(text)")
    #expect(daemon.requests.contains("GET /v1/jobs?queue=mail"), "\(text)")
  }

  @Test(
    "fish offers IDs with what they are, options and files",
    .enabled(if: has("fish")), .timeLimit(.minutes(2)))
  func fish() async throws {
    let daemon = try daemon()
    let programs = try RepositoryPaths.executable("bobbinctl").deletingLastPathComponent().path(percentEncoded: false)
    try Data().write(to: daemon.root.url.appending(path: "job file.json"))
    let lines = ["bobbinctl show ", "bobbinctl release ", "bobbinctl list --queue=", "bobbinctl submit jo"]
    let script =
      "cd $HOME; bobbinctl completion fish | source\n"
      + lines.map { "complete -C '\($0)'\n" }.joined(separator: "echo ==\n")
    let run = try await TestSupport.Tool.run(
      "/usr/bin/fish", ["--no-config", "-c", script],
      environment: ["PATH": "\(programs):/usr/bin:/bin", "BOBBIN_ROOT": daemon.root.path, "HOME": daemon.root.path])
    let offers = run.output.components(separatedBy: "==\n").map { $0.split(separator: "\n").map(String.init).sorted() }
    let held = "held-1\timage.encode, completed"
    #expect(
      offers == [
        [
          "done\timage.encode, completed", held, "it's 5 o'clock\timage.encode, completed",
          "nightly@2026-11-23T03:00:00Z\timage.encode, completed",
        ], [held], ["--queue=default", "--queue=mail"], ["job file.json"],
      ], "\(run.errors)")
  }
}
