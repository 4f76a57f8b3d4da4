import CLinux
import Dispatch
import Glibc
import Synchronization

/// A running child process, reaped exactly once whether or not anybody waits for it.
///
/// Its end is noticed through a process descriptor, so a recycled process ID can't be mistaken for it. Nothing else in
/// this process may wait for children, and SIGCHLD must not be ignored.
package final class ChildProcess: Sendable {
  enum State {
    case running(waiters: [UInt64: Waiter])
    case ended(Result<Termination, SystemError>)
  }

  struct Waiter {
    let continuation: CheckedContinuation<Termination, any Error>
    let timer: (any DispatchSourceTimer)?
  }

  package let processID: Int32
  let launch: ChildLaunch
  private let descriptor: FileDescriptor
  let state = Mutex<State>(.running(waiters: [:]))
  let lastWaiter = Atomic<UInt64>(0)
  static let queue = DispatchQueue(label: "bobbin.children")

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
