import CLinux
import Dispatch
import Glibc
import Synchronization

/// A running child process, reaped exactly once whether or not anybody waits for it.
///
/// Its end is noticed through a process descriptor, so a recycled process ID can't be mistaken for it. Nothing else in
/// this process may wait for children, and SIGCHLD must not be ignored.
package final class ChildProcess: Sendable {
  private enum State {
    case running(waiters: [UInt64: Waiter])
    case ended(Result<Termination, SystemError>)
  }

  private struct Waiter {
    let continuation: CheckedContinuation<Termination, any Error>
    let timer: OneShotTimer
  }

  package let processID: Int32
  private let launch: ChildLaunch
  private let descriptor: FileDescriptor
  private let state = Mutex<State>(.running(waiters: [:]))
  private let lastWaiter = Atomic<UInt64>(0)
  private static let queue = DispatchQueue(label: "bobbin.children")

  private init(processID: Int32, launch: ChildLaunch, descriptor: consuming FileDescriptor) {
    self.processID = processID
    self.launch = launch
    self.descriptor = descriptor
  }

  /// Starts a program; returns when it has been executed, or throws why it can't be.
  package static func start(_ launch: ChildLaunch) throws(SystemError) -> ChildProcess {
    let processID = try SpawnThread.shared.spawn(launch)
    let number: Int32
    do {
      // Nobody has reaped the child yet, so its ID still means it.
      number = try systemCall("pidfd_open", launch.executable) { pidfd_open(processID, 0) }
    } catch {
      _ = Glibc.kill(processID, SIGKILL)
      _ = try? systemCall("waitpid") { waitpid(processID, nil, 0) }
      throw error
    }
    let child = ChildProcess(processID: processID, launch: launch, descriptor: FileDescriptor(owning: number))
    do { try child.watch() } catch {
      try child.kill(SIGKILL)
      _ = try? systemCall("waitpid") { waitpid(processID, nil, 0) }
      throw error
    }
    return child
  }

  /// Sends a signal to the child; does nothing when it has ended.
  package func kill(_ signal: Int32) throws(SystemError) {
    do {
      try systemCall("pidfd_send_signal", launch.executable) { pidfd_send_signal(descriptor.number, signal, nil, 0) }
    } catch  where error.code == .noProcess {
      return
    }
  }

  /// Sends a signal to the child and all in its process group; does nothing when the child has been reaped.
  package func killGroup(_ signal: Int32) throws(SystemError) {
    // Under the lock the child isn't reaped, so the group's number still belongs to it.
    let outcome = state.withLock { state in
      guard case .running = state else { return Result<Void, SystemError>.success(()) }
      return Result { () throws(SystemError) in try signalGroup(signal) }
    }
    try outcome.get()
  }

  private func signalGroup(_ signal: Int32) throws(SystemError) {
    do {
      try systemCall("killpg", launch.executable) { killpg(processID, signal) }
    } catch  where error.code == .noProcess {
      return
    }
  }

  /// The call keeps this object, and with it the descriptor, until the child is reaped.
  private func watch() throws(SystemError) {
    try ReadinessThread.shared.whenReadable(descriptor.number) { [self] in
      if !reap() { watchLater() }
    }
  }

  /// Watches again, for a child that is dead but whose debugger reaps it first.
  private func watchLater() {
    Self.queue.asyncAfter(deadline: .now() + .milliseconds(50)) { [self] in
      do { try watch() } catch { watchLater() }
    }
  }

  /// - Returns: True if the child has ended.
  private func reap() -> Bool {
    let waiters = state.withLock { state -> [UInt64: Waiter]? in
      guard case .running(let waiters) = state else { return [:] }
      // A dead leader still reserves the group's number until it is waited for.
      var information = siginfo_t()
      let isDead =
        (try? systemCall("waitid") {
          waitid(P_PID, id_t(processID), &information, WEXITED | WNOHANG | WNOWAIT)
        }) != nil && information.si_signo == SIGCHLD
      if isDead, launch.killsGroupAtExit { try? signalGroup(SIGKILL) }
      do throws(SystemError) {
        var status: Int32 = 0
        var usage = rusage()
        let reaped = try systemCall("wait4", launch.executable) { wait4(processID, &status, WNOHANG, &usage) }
        if reaped == 0 { return nil }
        state = .ended(.success(Termination(waitStatus: status, usage: usage)))
      } catch {
        state = .ended(.failure(error))
      }
      return waiters
    }
    guard let waiters else { return false }
    for waiter in waiters.values { deliver(to: waiter) }
    return true
  }
}

extension ChildProcess {
  /// Waits for the child to end; any number of tasks may wait, before or after its end.
  ///
  /// - Parameter deadline: When to give up; the child keeps running.
  /// - Throws: ``SystemError/Code/timedOut`` at the deadline, `CancellationError` when the task is cancelled.
  package func termination(by deadline: Deadline = .never) async throws -> Termination {
    let id = lastWaiter.wrappingAdd(1, ordering: .relaxed).newValue
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        register(continuation, id: id, deadline: deadline)
        // A cancellation before the registration found nobody to wake.
        if Task.isCancelled { abandon(id, CancellationError()) }
      }
    } onCancel: {
      abandon(id, CancellationError())
    }
  }

  /// Waits for the child to end, and kills it with its process group when the deadline comes first.
  ///
  /// - Parameters:
  ///   - deadline: When to kill it.
  ///   - grace: How long it has between SIGTERM and SIGKILL; zero sends SIGKILL at once.
  /// - Returns: How it ended, and whether it had to be killed.
  /// - Throws: `CancellationError` when the task is cancelled; the child keeps running.
  package func termination(
    killingAt deadline: Deadline, grace: Duration = .zero
  ) async throws -> (termination: Termination, wasKilled: Bool) {
    do {
      return (try await termination(by: deadline), false)
    } catch let error as SystemError where error.code == .timedOut {
      return (try await stop(grace: grace), true)
    }
  }

  /// Terminates the child and its process group, with SIGTERM first, and waits for it.
  ///
  /// - Parameter grace: How long it has between SIGTERM and SIGKILL; zero sends SIGKILL at once.
  /// - Throws: ``SystemError/Code/timedOut`` when the kernel can't kill it within ten seconds, as in a hung disk read.
  package func stop(grace: Duration) async throws -> Termination {
    if grace > .zero {
      try killGroup(SIGTERM)
      do {
        return try await termination(by: .after(grace))
      } catch let error as SystemError where error.code == .timedOut {}
    }
    try killGroup(SIGKILL)
    return try await termination(by: .after(.seconds(10)))
  }

  private func register(
    _ continuation: CheckedContinuation<Termination, any Error>, id: UInt64, deadline: Deadline
  ) {
    let ended = state.withLock { state -> Result<Termination, SystemError>? in
      switch state {
      case .ended(let result):
        return result
      case .running(var waiters):
        waiters[id] = Waiter(continuation: continuation, timer: makeTimer(id: id, deadline: deadline))
        state = .running(waiters: waiters)
        return nil
      }
    }
    if let ended { continuation.resume(with: ended) }
  }

  private func makeTimer(id: UInt64, deadline: Deadline) -> OneShotTimer {
    let timer = OneShotTimer(queue: Self.queue)
    timer.arm(by: deadline) { [weak self] in
      guard let self else { return }
      abandon(id, SystemError(.timedOut, call: "wait", subject: launch.executable))
    }
    return timer
  }

  /// Resumes one waiter with an error; does nothing when it has been resumed.
  private func abandon(_ id: UInt64, _ error: any Error) {
    let waiter = state.withLock { state -> Waiter? in
      guard case .running(var waiters) = state else { return nil }
      let waiter = waiters.removeValue(forKey: id)
      state = .running(waiters: waiters)
      return waiter
    }
    waiter?.timer.cancel()
    waiter?.continuation.resume(throwing: error)
  }

  /// Resumes a waiter with the outcome; called once for each after the child has ended.
  private func deliver(to waiter: Waiter) {
    let outcome = state.withLock { state -> Result<Termination, SystemError>? in
      if case .ended(let outcome) = state { outcome } else { nil }
    }
    guard let outcome else { preconditionFailure("nothing to deliver while the child runs") }
    waiter.timer.cancel()
    waiter.continuation.resume(with: outcome)
  }
}

/// The end of a child process and what it used.
package struct Termination: Hashable, Sendable {
  package enum Status: Hashable, Sendable {
    case exited(code: Int32)
    case signaled(signal: Int32)
  }

  package let status: Status
  /// Processor time of the child and the descendants it waited for.
  package let userTime: Duration
  package let systemTime: Duration
  /// The largest resident set, in bytes.
  package let maximumResidentSize: Int

  init(waitStatus: Int32, usage: rusage) {
    // WIFSIGNALED and its siblings are macros: the low seven bits are the signal, the second byte is the exit code.
    let signal = waitStatus & 0x7f
    status = signal == 0 ? .exited(code: (waitStatus >> 8) & 0xff) : .signaled(signal: signal)
    userTime = Duration(usage.ru_utime)
    systemTime = Duration(usage.ru_stime)
    maximumResidentSize = usage.ru_maxrss * 1024
  }

  /// True if the child ended by itself with code 0.
  package var isSuccess: Bool { status == .exited(code: 0) }
}

extension Termination.Status: CustomStringConvertible {
  package var description: String {
    switch self {
    case .exited(let code): "exited with code \(code)"
    case .signaled(let signal): "killed by signal \(signal) (\(signalName(signal)))"
    }
  }
}

/// A signal's symbol such as `SIGKILL`, or its number.
package func signalName(_ signal: Int32) -> String {
  sigabbrev_np(signal).map { "SIG" + String(cString: $0) } ?? "signal \(signal)"
}

extension Duration {
  fileprivate init(_ time: timeval) {
    self = .seconds(time.tv_sec) + .microseconds(time.tv_usec)
  }
}
