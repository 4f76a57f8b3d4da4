import Glibc
import Synchronization
import SystemSupport

/// A Unix socket that starts a program for each connection, as a socket unit with `Accept=yes` does.
package final class ProgramListener: Sendable {
  private struct State {
    var refusals = 0
    var count = 0
    var wait: ReadinessThread.Wait?
  }

  private let listener: UnixListener
  private let launch: ChildLaunch
  private let state = Mutex(State())

  /// Listens at once.
  ///
  /// - Parameters:
  ///   - path: the path of the socket.
  ///   - program: the absolute path of what is started, with the connection as standard input and output.
  ///   - folder: where it starts.
  ///   - refusals: how many connections are closed at once first, as beyond `MaxConnections=`.
  package init(
    _ path: String, _ program: String, _ arguments: [String] = [], folder: String, refusals: Int = 0
  ) throws {
    listener = try UnixListener(path: path, mode: 0o600)
    launch = ChildLaunch(
      executable: program, arguments: arguments, environment: ["PATH": "/usr/bin:/bin"], workingDirectory: folder)
    state.withLock { $0.refusals = refusals }
    try wait()
  }

  deinit { try? close() }

  /// The number of connections so far.
  package var count: Int { state.withLock { $0.count } }

  /// Stops listening, and removes the socket.
  package func close() throws {
    if let wait = state.withLock({ $0.wait.take() }) { _ = ReadinessThread.shared.cancel(wait) }
    try listener.removeFile()
  }

  private func wait() throws(SystemError) {
    let wait = try ReadinessThread.shared.whenReadable(listener.descriptor.number) { [weak self] in self?.serve() }
    state.withLock { $0.wait = wait }
  }

  private func serve() {
    do throws(SystemError) {
      while let client = try listener.accept() {
        let isRefused = state.withLock { state in
          state.count += 1
          defer { state.refusals -= 1 }
          return state.refusals > 0
        }
        if isRefused { continue }
        try client.setNonBlocking(false)
        var launch = launch
        launch.descriptors = [0: client.number, 1: client.number]
        _ = try ChildProcess.start(launch)
      }
      try wait()
    } catch {
      print("the test's service ends: \(error)")
    }
  }
}
