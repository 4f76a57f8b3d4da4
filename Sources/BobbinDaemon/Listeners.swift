import Configuration
import Glibc
import JobDaemon
import SystemSupport

/// The sockets of the status interface, passed by systemd or made here.
struct Listeners: Sendable {
  let unix: UnixListener
  let tcp: [TCPListener]

  /// Takes those that systemd has passed, and makes what is missing.
  static func open(_ paths: Paths, _ configuration: Configuration) throws -> Listeners {
    var passed = try ServiceManager.adoptListenDescriptors()
    var tcp: [TCPListener] = []
    // A socket unit may have several addresses.
    while let descriptor = passed.remove(named: "bobbin-tcp") { tcp.append(try TCPListener(adopting: descriptor)) }
    let address = configuration.status.listen
    if !address.isEmpty { tcp.append(try listen(at: address)) }
    if let descriptor = passed.remove(named: "bobbin-http") {
      return Listeners(unix: try UnixListener(adopting: descriptor), tcp: tcp)
    }
    return Listeners(unix: try UnixListener(path: paths.socket, mode: 0o666), tcp: tcp)
  }

  /// Says where clients of TCP are served, and what is missing for that.
  func report(_ grants: [TokenGrant], to log: DaemonLog) {
    for listener in tcp {
      log.notice("listening on \(listener.address)")
      if !listener.isLoopback {
        log.warning(
          "tokens and jobs cross the network to \(listener.address) unencrypted; better listen on 127.0.0.1, behind a proxy "
            + "that has TLS")
      }
    }
    if !tcp.isEmpty, grants.isEmpty {
      log.warning("there are no tokens, so that nobody is let in over TCP; make one with \"bobbinctl token\"")
    }
  }
}

extension Listeners {
  private static func listen(at address: String) throws -> TCPListener {
    do throws(SystemError) { return try TCPListener(address: address) } catch {
      // Whoever has it may be gone at the next start.
      if error.code == .addressInUse { throw error }
      // The service's sandbox has no network: socket(2) knows no such address family there.
      let hint =
        error.code == .init(rawValue: EAFNOSUPPORT)
        ? "the service has no network of its own; enable bobbind-http.socket instead" : "name an address of this host"
      throw ConfigurationError(problems: [
        ConfigurationProblem(
          code: .invalidValue, file: "the configuration", section: "Status", key: "Listen", value: address,
          message: "\(error); \(hint)")
      ])
    }
  }
}
