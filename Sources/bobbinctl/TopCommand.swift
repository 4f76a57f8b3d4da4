import Dispatch
import Foundation
internal import Glibc
import StatusReplies
import Synchronization
import SystemSupport
import TextSupport

/// `bobbinctl top`: what the daemon does, live on the whole screen.
struct TopCommand: Subcommand {
  static let name = "top"
  static let usage = "top [--once]"
  static let summary = "Show live what the daemon does: running jobs, what waits, what failed"
  static let details = """
    Asks the daemon once a second. Keys: q quits, space stops and resumes the updates, Tab goes to the next list, the arrow
    keys, PgUp, PgDn, Home and End scroll it, s sorts running jobs by time, progress, type or ID, / shows only jobs, queues
    and types whose names have a text in them, Esc shows all again.
    """
  static let options = [Option("--once", .none, help: "Print what it would show, also where there is no terminal")]

  private let once: Bool

  init(_ arguments: inout ParsedArguments) {
    once = arguments.has("--once")
    if let operand = arguments.operands.first { arguments.addProblem("top takes no argument, not \"\(operand)\"") }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    if session.printsJSON {
      throw ToolError(.usage, "top has no JSON", hint: "\"status\", \"queues\" and \"list\" print it with --json")
    }
    let terminal = session.output.terminal
    if once {
      var collector = TopCollector()
      let size = TopFrame.Size(width: terminal.width ?? 100, height: nil)
      let frame = TopFrame(try collector.look(session), TopView(), size: size, usesColor: terminal.usesColor)
      try session.output.write(frame.lines.map { $0 + "\n" }.joined())
      return .success
    }
    return try TopLoop(session, FullScreen(), usesColor: terminal.usesColor).run()
  }
}

/// The loop of `top`: keys, signals and answers come in, frames go out, one after the other on a queue of its own.
private final class TopLoop: Sendable {
  private static let interval = Duration.seconds(1)
  private static let endings: Set<Int32> = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]

  private struct State {
    var view = TopView()
    var data: TopData?
    var collector = TopCollector()
    var page = 0
    var isAsking = false
    var ending: Ending?
  }

  private enum Ending {
    case key
    case signal(Int32)
  }

  private let session: Session
  private let screen: FullScreen
  private let usesColor: Bool
  private let queue = DispatchQueue(label: "top")
  /// Requests wait here, so that keys don't.
  private let requests = DispatchQueue(label: "top requests")
  private let timer: OneShotTimer
  private let state = Mutex(State())
  private let isOver = Latch()

  init(_ session: Session, _ screen: FullScreen, usesColor: Bool) {
    self.session = session
    self.screen = screen
    self.usesColor = usesColor
    timer = OneShotTimer(queue: queue)
  }

  func run() throws(ToolError) -> ExitCode {
    // A daemon that isn't there, or that refuses, is told without a screen.
    var collector = TopCollector()
    let data = try collector.look(session)
    state.withLock { ($0.data, $0.collector) = (data, collector) }
    let signals: SignalSource
    do throws(SystemError) {
      signals = try SignalSource(Self.endings.union([SIGWINCH, SIGTSTP, SIGCONT]), queue: queue) { [weak self] in
        self?.handle($0)
      }
    } catch {
      throw ToolError(.unavailable, "signals can't be received: \(error)")
    }
    defer { signals.stop() }
    let keys = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: queue)
    keys.setEventHandler { [weak self] in self?.readKeys() }
    try screen.begin()
    queue.async { self.draw() }
    keys.activate()
    askLater()
    _ = isOver.wait(until: .distantFuture)
    timer.cancel()
    keys.cancel()
    screen.end()
    if case .signal(let number) = state.withLock(\.ending) {
      // Whoever has started it is to see that a signal ended it.
      signal(number, SIG_DFL)
      raise(number)
    }
    return .success
  }

  private func end(_ ending: Ending) {
    state.withLock { if $0.ending == nil { $0.ending = ending } }
    isOver.open()
  }

  private func handle(_ number: Int32) {
    switch number {
    case SIGWINCH: draw()
    case SIGTSTP:
      screen.end()
      // Goes on behind this line when the process is continued.
      kill(getpid(), SIGSTOP)
    case SIGCONT:
      do throws(ToolError) { try screen.begin() } catch { return end(.signal(SIGHUP)) }
      draw()
    default: end(.signal(number))
    }
  }

  private func readKeys() {
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = read(STDIN_FILENO, &bytes, bytes.count)
    if count <= 0 { return end(.key) }
    let goesOn = state.withLock { state in
      TopKey.keys(in: Array(bytes.prefix(count))).allSatisfy { state.view.press($0, page: state.page) }
    }
    if !goesOn { return end(.key) }
    ask()
    draw()
  }

  // MARK: Looks

  private func askLater() { timer.arm(after: Self.interval) { [weak self] in self?.ask(isDue: true) } }

  /// Asks the daemon, unless that is paused or under way.
  ///
  /// - Parameter isDue: true when the time has come, rather than when the pause may be over.
  private func ask(isDue: Bool = false) {
    let collector = state.withLock { state -> TopCollector? in
      if state.isAsking || state.view.isPaused || (!isDue && timer.isArmed) { return nil }
      state.isAsking = true
      return state.collector
    }
    guard let collector else { return }
    requests.async { [self] in
      var asked = collector
      let look = Result { () throws(ToolError) in try asked.look(session) }
      queue.async { [self, asked] in take(look, asked) }
    }
  }

  private func take(_ look: Result<TopData, ToolError>, _ collector: TopCollector) {
    state.withLock { state in
      state.isAsking = false
      state.collector = collector
      switch look {
      case .success(let data): state.data = data
      case .failure(let error): state.data?.problem = error.message
      }
    }
    draw()
    askLater()
  }

  private func draw() {
    let size = screen.size
    let lines = state.withLock { state -> [String] in
      guard let data = state.data else { return [] }
      let frame = TopFrame(data, state.view, size: size, usesColor: usesColor)
      (state.view, state.page) = (frame.view, frame.page)
      return frame.lines
    }
    if state.withLock(\.ending) == nil { screen.show(lines) }
  }
}
