import Foundation
import Glibc
import Synchronization
import SystemSupport
import TestSupport
import Testing

@Suite("bobbinctl top")
struct TopTests {
  private static let taken = "\u{1b}[?1049h\u{1b}[?25l"
  private static let left = "\u{1b}[?25h\u{1b}[?1049l"
  private static let queues = #"{"paused":false,"queues":[],"types":[]}"#

  /// A daemon with one running job.
  private func daemon() throws -> TestDaemon {
    try TestDaemon { request in
      let reply =
        switch request.path {
        case "/v1/status": SampleReplies.status
        case "/v1/queues": Self.queues
        default:
          request.query("state") == "running"
            ? SampleReplies.jobs(SampleReplies.job("long", SampleReplies.unfinished))
            : SampleReplies.jobs(SampleReplies.job("bad", SampleReplies.discarded))
        }
      return .now(.json(data: Data(reply.utf8), status: 200))
    }
  }

  private func start(_ daemon: TestDaemon, on terminal: PseudoTerminal) throws -> ChildProcess {
    let (user, program) = (terminal.userSide, try RepositoryPaths.executable("bobbinctl").path(percentEncoded: false))
    return try ChildProcess.start(
      ChildLaunch(
        executable: program, arguments: ["--root", daemon.root.path, "top"],
        environment: ["TZ": "UTC", "TERM": "xterm", "NO_COLOR": "1", "SWIFT_BACKTRACE": "enable=no"],
        descriptors: [0: user, 1: user, 2: user]))
  }

  @Test("It shows the daemon, follows keys and a new size, stops and goes on, and leaves the terminal as it was")
  func whole() async throws {
    let daemon = try daemon()
    let terminal = try PseudoTerminal(width: 100, height: 30)
    let child = try start(daemon, on: terminal)
    let first = try terminal.text(until: "q quit")
    #expect(first.hasPrefix(Self.taken))
    #expect(first.contains("workers      ██████████░░░░░░░░░░ 1 of 2 busy"))
    #expect(first.contains("RUNNING (1) ◂") && first.contains("FAILED (1)"))
    #expect(try !terminal.isInLineMode)
    // Three requests for a frame, and failures once.
    #expect(
      daemon.requests.prefix(4).map { String($0.prefix { $0 != "?" }) } == [
        "GET /v1/status", "GET /v1/queues", "GET /v1/jobs", "GET /v1/jobs",
      ])
    try terminal.type("s")
    _ = try terminal.text(until: "s sort by progress")
    try terminal.type("/nothing\r")
    #expect(try terminal.text(until: "/ filter: nothing").contains("RUNNING (0)"))
    try terminal.resize(width: 60, height: 10)
    try child.kill(SIGWINCH)
    // Only there the line of keys is cut.
    let small = try terminal.text(until: "…\u{1b}[K\u{1b}[J").components(separatedBy: "\u{1b}[H").last
    #expect(small?.components(separatedBy: "\r\n").count == 10)
    try child.kill(SIGTSTP)
    _ = try terminal.text(until: Self.left)
    // As a shell does: what goes on before it has stopped would stop afterwards.
    try await waitUntilStopped(child)
    try child.kill(SIGCONT)
    _ = try terminal.text(until: Self.taken)
    _ = try terminal.text(until: "q quit")
    try terminal.type("q")
    _ = try terminal.text(until: Self.left)
    #expect(try await child.termination(killingAt: .after(.seconds(60))).termination.status == .exited(code: 0))
    #expect(try terminal.isInLineMode)
  }

  private func waitUntilStopped(_ child: ChildProcess) async throws {
    let id = id_t(child.processID)
    try await withTimeout(seconds: 60) {
      await withCheckedContinuation { continuation in
        Thread.detachNewThread {
          var news = siginfo_t()
          // The end of the process is left to its owner.
          let result = waitid(P_PID, id, &news, WSTOPPED | WEXITED | WNOWAIT)
          #expect(result == 0 && news.si_code == CLD_STOPPED)
          continuation.resume()
        }
      }
    }
  }

  @Test("A signal or a crash leaves the terminal as it was", arguments: [SIGINT, SIGTERM, SIGHUP, SIGSEGV, SIGABRT])
  func signals(number: Int32) async throws {
    let daemon = try daemon()
    let terminal = try PseudoTerminal(width: 80)
    let child = try start(daemon, on: terminal)
    _ = try terminal.text(until: "q quit")
    try child.kill(number)
    _ = try terminal.text(until: Self.left)
    let end = try await child.termination(killingAt: .after(.seconds(60))).termination.status
    #expect(end == .signaled(signal: number), "\(end)")
    #expect(try terminal.isInLineMode)
  }

  @Test("Without a terminal it says so, and prints what it would show when it is to; a missing daemon is told as ever")
  func noTerminal() async throws {
    let daemon = try daemon()
    let refused = try await daemon.run("top")
    #expect(refused.code == 64)
    #expect(refused.errors.contains("top needs a terminal") && refused.errors.contains("top --once"))
    let once = try await daemon.run("top", "--once")
    #expect(once.code == 0)
    #expect(once.lines.contains { $0.hasPrefix("long ") } && once.lines.contains { $0.hasPrefix("bad ") })
    #expect(!once.output.contains("\u{1b}"))
    let directory = try TemporaryDirectory()
    let missing = try await TestDaemon.run(["--root", directory.path, "top", "--once"])
    #expect(missing.code == 69)
  }
}
