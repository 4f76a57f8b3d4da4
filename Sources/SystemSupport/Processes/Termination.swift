import CLinux
import Glibc

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
