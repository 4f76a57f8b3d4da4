import Dispatch
import Glibc
import Synchronization
package import SystemSupport

/// Serves HTTP/1.1 on a listening socket, with one thread for requests and limits that no client can exceed.
///
/// Each client has an absolute time to send its request; users on a Unix socket are known by their credentials and have
/// a limited number of connections. Malformed requests that the HTTP library refuses by itself (broken request
/// lines, header fields that don't fit) get its own 4xx replies, which are not JSON; all other refusals are.
package final class HTTPServer: Sendable {
  private enum Phase {
    /// Next: running, ended.
    case idle
    /// Next: ended.
    case running(Acceptor, LibraryDaemon)
    case ended
  }

  private let core: ServerCore
  private let isUnix: Bool
  private let phase = Mutex(Phase.idle)
  private let listener: Mutex<FileDescriptor?>
  private let queue = DispatchQueue(label: "HTTPServer")

  /// Makes a server for a listening stream socket, which it duplicates and sets to non-blocking.
  ///
  /// The caller keeps its descriptor: stopping the server leaves the socket listening, and another server can follow.
  /// - Parameters:
  ///   - listener: Bound and listening; made here, or passed by systemd.
  ///   - standing: Returns the standing of a Unix socket's peer; called when one connects, and must not wait.
  ///   - placeBody: Decides where bodies go; without one, to memory.
  ///   - handler: Called on the server's only thread; it must not wait for anything.
  package init(
    listener: borrowing FileDescriptor, limits: HTTPServerLimits = HTTPServerLimits(),
    standing: @escaping @Sendable (PeerCredentials) -> PeerStanding = { _ in .user },
    placeBody: @escaping HTTPBodyPlacer = { _, _ in .memory }, handler: @escaping HTTPHandler
  ) throws(HTTPServiceError) {
    do {
      isUnix = try Self.isUnix(listener)
      let duplicate = try listener.duplicate()
      try duplicate.setNonBlocking(true)
      self.listener = Mutex(duplicate)
    } catch {
      throw HTTPServiceError(
        .notListening, message: "descriptor \(listener.number) is not a listening stream socket", cause: error)
    }
    core = ServerCore(limits: limits, judge: standing, placeBody: placeBody, handler: handler)
  }

  deinit {
    stop()
  }

  /// Starts serving; a server is started once.
  package func start() throws(HTTPServiceError) {
    try phase.withLock { phase throws(HTTPServiceError) in
      guard case .idle = phase, let listener = listener.withLock({ $0.take() }) else {
        throw HTTPServiceError(.usedUp, message: "an HTTP server can be started only once")
      }
      let library = try LibraryDaemon(core: core)
      core.startDeadlines(on: queue)
      let acceptor = Acceptor(listener: listener, isUnix: isUnix, core: core, library: library, queue: queue)
      acceptor.start()
      phase = .running(acceptor, library)
    }
  }

  /// The number of open connections.
  package var connectionCount: Int { core.connectionCount }

  /// Stops serving: accepts nobody, answers waiting requests with 503, finishes replies under way, closes the rest.
  ///
  /// Blocks up to the limits' `stopTimeout`, longer only while a handler is running; not to be called by a handler. Safe
  /// before starting and again. Answers given later have no effect.
  package func stop() {
    let previous = phase.withLock { phase in
      defer { phase = .ended }
      return phase
    }
    guard case .running(let acceptor, let library) = previous else { return }
    acceptor.stop()
    core.drain()
    library.stop()
    core.stopDeadlines()
    core.removeAll()
  }

  private static func isUnix(_ socket: borrowing FileDescriptor) throws(SystemError) -> Bool {
    let family = try option(SO_DOMAIN, of: socket)
    guard [AF_UNIX, AF_INET, AF_INET6].contains(family), try option(SO_ACCEPTCONN, of: socket) == 1,
      try option(SO_TYPE, of: socket) == Int32(SOCK_STREAM.rawValue)
    else { throw SystemError(.invalidArgument, call: "getsockopt") }
    return family == AF_UNIX
  }

  private static func option(_ name: Int32, of socket: borrowing FileDescriptor) throws(SystemError) -> Int32 {
    var value: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    let number = socket.number
    try systemCall("getsockopt") { getsockopt(number, SOL_SOCKET, name, &value, &length) }
    return value
  }
}
